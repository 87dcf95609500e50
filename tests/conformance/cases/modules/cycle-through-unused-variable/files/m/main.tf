variable "v" {}
output "o" { value = 1 }
