terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias  = "two"
  region = "two"
}

provider "lab" {
  alias    = "r"
  for_each = toset(["eu", "us"])
  region   = each.key
}
resource "lab_thing" "r" {
  for_each = toset(["eu", "us"])
  provider = lab.r[each.key]
  name     = each.key
}
