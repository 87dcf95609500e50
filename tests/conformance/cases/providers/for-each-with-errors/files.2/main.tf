terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  alias    = "by"
  for_each = toset(["us", "eu"])
  region   = each.key
}
resource "lab_thing" "a" {
  for_each = { one = ["eu"] }
  provider = lab.by[each.value[3]]
  name     = each.key
}
resource "lab_thing" "b" {
  provider = lab.by[each.key]
  name     = "b"
}
