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
  count    = { one = "eu" }
  provider = lab.by[each.value[0]]
  name     = each.key
}
