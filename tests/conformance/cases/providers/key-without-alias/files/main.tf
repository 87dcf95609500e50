terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

module "m" {
  source   = "./m"
  for_each = toset(["a"])
  providers = {
    lab = lab[each.key]
  }
}
resource "lab_thing" "a" {
  for_each = toset(["a"])
  provider = lab[each.key]
  name     = "a"
}
