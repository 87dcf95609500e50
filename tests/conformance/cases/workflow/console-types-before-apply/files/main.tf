resource "terraform_data" "a" {}
resource "terraform_data" "c" {
  count = 2
}
locals {
  a = terraform_data.a
}
