terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

locals {
  all = toset(concat(tolist(local.all), ["x"]))
}
provider "lab" {
  alias    = "by"
  for_each = local.all
  region   = each.key
}
resource "lab_thing" "a" {
  for_each = local.all
  provider = lab.by[each.key]
  name     = each.key
}
