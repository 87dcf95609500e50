terraform {
  required_version = ">= 1.0, < 2.0"
  nope = 1
  experiments = [nope]
}
terraform {
  backend "local" {
    path = "x.tfstate"
  }
  backend "local" {}
}
