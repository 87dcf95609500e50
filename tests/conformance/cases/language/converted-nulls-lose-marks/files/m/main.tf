variable "converted" { type = object({ a = string, b = string }) }
variable "list" { type = list(object({ a = string, b = string })) }
variable "same" { type = object({ a = string, b = string }) }
output "converted" { value = [issensitive(var.converted.a), issensitive(var.converted.b)] }
output "list" { value = [issensitive(var.list[0].a), issensitive(var.list[0].b)] }
output "same" { value = [issensitive(var.same.a), issensitive(var.same.b)] }
