variable "m" {
  type    = string
  default = null
}
variable "b" {
  default = 1
  validation {
    condition     = var.b > 1
    error_message = var.m
  }
}
