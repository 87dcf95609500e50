variable "n" {
  validation {
    condition     = var.n != 8
    error_message = "Eight."
  }
}
output "n" {
  value = var.n
  precondition {
    condition     = var.n != 9
    error_message = "Nine."
  }
}
