variable "which" {
  type  = string
  const = true
}
output "v" {
  value = var.which
}
