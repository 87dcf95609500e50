variable "i" {}
output "o" { value = var.i }
