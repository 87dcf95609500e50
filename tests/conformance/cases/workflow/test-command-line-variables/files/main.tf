variable "n" {
  type    = number
  default = 1
}
output "n" { value = var.n }
