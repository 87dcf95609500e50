terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  alias    = "by"
  for_each = toest(["us", "eu"])
  region   = each.key
}
resource "lab_thing" "a" {
  provider = lab.by["us"]
  name     = "a"
}
