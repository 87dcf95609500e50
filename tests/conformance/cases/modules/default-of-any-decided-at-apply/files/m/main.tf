variable "v" {
  type = map(object({ s = optional(any, [1]) }))
}
output "o" { value = var.v }
