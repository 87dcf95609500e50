terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  region = "west"
}
module "outer" {
  source = "./outer"
  providers = {
    lab = lab
  }
}
