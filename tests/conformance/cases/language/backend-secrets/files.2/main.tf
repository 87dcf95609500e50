resource "terraform_data" "x" {}
terraform {
  backend "local" {
    path  = terraform_data.x.id
    bogus = 1
  }
}
