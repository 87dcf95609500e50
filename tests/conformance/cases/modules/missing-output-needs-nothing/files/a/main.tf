variable "x" {}
output "w" { value = var.x }
