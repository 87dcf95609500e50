locals {
  regions = { a = "r-a", b = "r-b" }
}
provider "lab" {
  alias    = "by"
  for_each = local.regions
  region   = each.value
}
resource "lab_thing" "t" {
  for_each = local.regions
  provider = lab.by[each.key]
  name     = each.key
}
module "m" {
  source    = "./m"
  for_each  = local.regions
  providers = { lab = lab.by[each.key] }
  n         = each.key
}
