variable "v" { default = null }
output "nothing" { value = null }
output "object" { value = { a = 1, b = [true, "x"], c = null } }
output "given" { value = var.v }
