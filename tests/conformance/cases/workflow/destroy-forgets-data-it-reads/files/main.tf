terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

module "m" {
  source = "./m"
}

module "k" {
  source   = "./m"
  for_each = toset(["p"])
}
