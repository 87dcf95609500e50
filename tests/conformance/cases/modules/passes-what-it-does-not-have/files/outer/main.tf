terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
module "inner" {
  source = "./inner"
  providers = {
    lab = lab
  }
}
