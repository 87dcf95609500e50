variable "one" {
  type = object({ tags = map(number), size = optional(string, "none") })
}
variable "many" {
  type = list(object({ a = number, b = optional(list(string)) }))
}
output "one" {
  value = var.one
}
output "many" {
  value = var.many
}
