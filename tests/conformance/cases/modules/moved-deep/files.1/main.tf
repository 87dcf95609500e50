terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
module "a" {
  source = "./a"
  for_each = toset(["k"])
}
moved {
  from = module.a
  to = module.a["k"]
}
moved {
  from = lab_thing.top
  to = module.a["k"].lab_thing.was_top
}
