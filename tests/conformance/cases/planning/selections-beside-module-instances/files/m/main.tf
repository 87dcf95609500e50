resource "terraform_data" "a" {
}

locals {
  l = terraform_data.a.id
}

resource "terraform_data" "b" {
  input = terraform_data.a.id
}

resource "terraform_data" "d" {
  input = local.l
}
