locals {
  known = { one = "one", two = "two" }
}
module "set" {
  source   = "./set"
  for_each = local.known
  name     = each.key
}
import {
  for_each = local.known
  to       = module.set[each.key].module.thing.lab_thing.it
  id       = each.value
}
