variable "n" {
  type    = number
  default = 1
  validation {
    condition     = var.n < 5
    error_message = "n is ${var.n}."
  }
}
variable "list" {
  type    = list(number)
  default = []
}
variable "req" {
  type     = string
  nullable = false
  default  = "x"
}
variable "s" {
  type      = string
  sensitive = true
  validation {
    condition     = length(var.s) > 5
    error_message = "Too short."
  }
}
output "o" {
  value = [var.n, var.list, var.req]
}
