locals {
  known = { one = "one", two = "two" }
}
module "set" {
  source   = "./set"
  for_each = local.known
  name     = each.key
}
import {
  to = module.set["three"].module.thing.lab_thing.it
  id = "x"
}
import {
  to = module.nowhere.lab_thing.it
  id = "x"
}
