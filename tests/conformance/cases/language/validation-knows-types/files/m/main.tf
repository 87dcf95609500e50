variable "v" {
  type = any
}
output "o" {
  value = var.v
}
resource "terraform_data" "t" {
}
output "id" {
  value = terraform_data.t.id
}
