variable "x" {}
resource "terraform_data" "a" {
  input = var.x
}
resource "terraform_data" "b" {
  count = 2
  input = "${terraform_data.a.output}-${count.index}"
}
output "a" {
  value = terraform_data.a.output
}
