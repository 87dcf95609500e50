variable "s" {
  type      = string
  sensitive = true
}
variable "e" {
  type      = string
  ephemeral = true
}
resource "terraform_data" "a" {
  input = var.s
}
output "len" {
  value = nonsensitive(length(var.s))
}
