variable "n" {}
check "short" {
  assert {
    condition     = var.n < 3
    error_message = "Long."
  }
}
