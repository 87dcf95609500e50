variable "n" {}
output "n" { value = var.n * 10 }
