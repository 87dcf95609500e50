variable "object" { type = object({ name = string, size = optional(number, 1) }) }
variable "list" { type = list(object({ name = string, size = optional(number, 2) })) }
output "known" { value = [var.object != null, var.list != null, length(var.list) > 0] }
output "values" { value = [var.object, var.list] }
