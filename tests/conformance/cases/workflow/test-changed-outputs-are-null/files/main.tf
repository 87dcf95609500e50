variable "v" {
  default = "1"
}
resource "terraform_data" "a" {
  input = var.v
}
output "o" {
  value = terraform_data.a.output
}
resource "terraform_data" "t" {
  input = 1
  triggers_replace = var.v
}
output "id" {
  value = terraform_data.t.id
}
output "v" {
  value = var.v
}
