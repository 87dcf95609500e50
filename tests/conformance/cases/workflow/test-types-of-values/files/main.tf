variable "list" {
  type    = list(string)
  default = []
}
variable "strict" {
  type     = string
  nullable = false
}
variable "a" {
  default = 1
  validation {
    condition     = var.a < 5
    error_message = "a is ${var.a}."
  }
  validation {
    condition     = var.a > 0
    error_message = "a is too small."
  }
}
variable "b" {
  default = 1
  validation {
    condition     = var.b > var.a - 1
    error_message = "b is less than a."
  }
}
output "x" { value = [var.list, var.strict, var.a, var.b] }
