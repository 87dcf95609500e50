variable "a" {
  type    = string
  default = "x"
}
variable "b" {
  default = 1
}
output "o" {
  value = [var.a, var.b]
}
