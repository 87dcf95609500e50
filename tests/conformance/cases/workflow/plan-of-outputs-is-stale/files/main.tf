variable "o" {
  default = 1
}
output "o" {
  value = var.o
}
