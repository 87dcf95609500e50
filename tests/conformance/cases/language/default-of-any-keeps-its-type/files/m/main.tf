variable "any" {
  type     = any
  nullable = false
  default  = 5
}
variable "list" {
  type     = any
  nullable = false
  default  = ["d"]
}
variable "strings" {
  type     = map(string)
  nullable = false
  default  = {}
}
output "any" {
  value = var.any
}
output "list" {
  value = [var.any, var.list]
}
output "strings" {
  value = merge(var.strings, { l = "l" })
}
