variable "in" {}
variable "plain" {
  sensitive = true
}
output "out" {
  value = var.in
}
output "plain" {
  value = nonsensitive(var.plain)
}
