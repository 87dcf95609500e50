variable "v" {
  default = 1
}
output "o" {
  value = var.v
}
