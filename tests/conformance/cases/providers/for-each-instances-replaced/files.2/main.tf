locals {
  regions = { a = "changed", b = "r-b", c = "r-c" }
}
provider "lab" {
  alias    = "by"
  for_each = local.regions
  region   = each.value
}
resource "lab_thing" "s" {
  for_each = toset(["x", "b"])
  provider = lab.by["c"]
  name     = each.key == "x" ? "a" : each.key
}
moved {
  from = lab_thing.t["a"]
  to   = lab_thing.s["x"]
}
moved {
  from = module.m["c"].lab_thing.x
  to   = lab_thing.s["m"]
}
