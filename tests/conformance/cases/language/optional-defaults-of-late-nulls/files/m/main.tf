variable "v" {
 type = object({ x = object({ y = list(object({ a = optional(string, "d") })) }) })
}
output "o" { value = [var.v] }
