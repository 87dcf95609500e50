locals {
  regions = { a = "changed", b = "r-b", c = "r-c" }
}
provider "lab" {
  alias    = "by"
  for_each = local.regions
  region   = each.value
}
resource "lab_thing" "t" {
  for_each = local.regions
  provider = lab.by[each.key == "c" ? "b" : "c"]
  name     = each.key
}
module "m" {
  source    = "./m"
  for_each  = local.regions
  providers = { lab = lab.by["c"] }
  n         = each.key
}
