variable "in" {
  type = string
}
output "len" {
  value = length(var.in)
}
output "obj" {
  value     = { a = var.in, b = "clear" }
  sensitive = true
}
