variable "list" { type = list(number) }
output "sum" { value = sum(var.list) }
output "max" { value = max(var.list...) }
