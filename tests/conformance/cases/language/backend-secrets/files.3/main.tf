resource "terraform_data" "x" {}
terraform {
  backend "local" {
    bogus = terraform_data.x.id
  }
}
