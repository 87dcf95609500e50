variable "u" {
  validation {
    condition     = var.u > 5
    error_message = "u is ${var.u}"
  }
}
variable "each" {
  type = string
  validation {
    condition     = length(var.each) < 5
    error_message = "too long"
  }
}
