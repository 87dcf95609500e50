variable "x" {
  type = any
}
variable "s" {
  default = "s"
}
output "x" {
  value = var.x
}
output "s" {
  value = var.s
}
