variable "v" {}
locals { l = var.v }
output "o" { value = 1 }
