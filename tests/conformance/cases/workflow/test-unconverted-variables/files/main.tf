variable "v" {
  type    = number
  default = 1
}
variable "w" {
  type    = string
  default = "1"
}
variable "l" {
  type    = list(string)
  default = []
}
variable "o" {
  type    = object({ a = number, b = optional(string, "d") })
  default = { a = 1 }
}
variable "e" {
  type    = number
  default = 1
}
output "o" {
  value = [var.v, var.w, var.l]
}
