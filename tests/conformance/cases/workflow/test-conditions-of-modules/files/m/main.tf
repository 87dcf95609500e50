variable "n" {
  validation {
    condition     = var.n != 5
    error_message = "Five."
  }
}
resource "terraform_data" "a" {
  input = var.n
  lifecycle {
    precondition {
      condition     = var.n != 7
      error_message = "Seven."
    }
    postcondition {
      condition     = self.output != 9
      error_message = "Nine."
    }
  }
}
output "n" {
  value = var.n
  precondition {
    condition     = var.n != 11
    error_message = "Eleven."
  }
}
check "c" {
  assert {
    condition     = var.n != 13
    error_message = "Thirteen."
  }
}
