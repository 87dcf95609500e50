resource "terraform_data" "a" {
  for_each = toset(["x", "p"])
}

module "m" {
  source   = "./m"
  for_each = toset(["x"])
}

resource "terraform_data" "c" {}

import {
  to = terraform_data.a["p"]
  id = "i1"
}
