variable "n" {
  validation {
    condition     = var.n > 0
    error_message = "first"
  }
  validation {
    condition     = 1 / (var.n + 1) > 0
    error_message = "second"
  }
}
