variable "v" {
  default = "over-b"
}
locals {
  b = "over-b"
}
output "o" {
  value = [var.v, local.a, local.b, module.m.n]
}
