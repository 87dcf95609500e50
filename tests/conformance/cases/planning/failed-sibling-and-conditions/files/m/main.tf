
variable "y" {
  validation {
    condition     = var.y < 30
    error_message = "var"
  }
}
output "y" {
  value = var.y
  precondition {
    condition     = var.y < 40
    error_message = "m.y"
  }
}
