variable "n" { default = 1 }
check "c" {
  assert {
    condition     = var.n < 5
    error_message = "Five or more."
  }
  assert {
    condition     = var.n < 10
    error_message = "Ten or more."
  }
}
check "d" {
  assert {
    condition     = var.n != 12
    error_message = "Twelve."
  }
}
