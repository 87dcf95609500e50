variable "v" {}
resource "terraform_data" "x" {
  input = var.v
}
output "o" {
  value = terraform_data.x.id
}
output "p" {
  value = var.v
}
