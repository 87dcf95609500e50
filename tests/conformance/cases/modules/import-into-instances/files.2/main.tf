locals {
  known = { two = "two" }
}
module "set" {
  source   = "./set"
  for_each = local.known
  name     = each.key
}
import {
  to = module.set["two"].module.thing.lab_thing.it
  id = "two"
}
