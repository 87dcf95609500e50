variable "v" {}
resource "terraform_data" "a" {
  input = var.v
}
output "id" {
  value = terraform_data.a.id
}
output "v" {
  value = var.v
}
