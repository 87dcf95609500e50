variable "which" {
  type    = string
  const   = true
  default = "x"
}
output "v" {
  value = var.which
}
