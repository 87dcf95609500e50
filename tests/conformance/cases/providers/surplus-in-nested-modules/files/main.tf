terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias  = "one"
  region = "one"
}
provider "lab" {
  alias  = "two"
  region = "two"
}
module "o" {
  source    = "./o"
  providers = { lab = lab.one }
  names     = ["a", "b"]
}
