terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

module "m" {
  source = "./m"
}
import {
  provider = lab
  to       = module.m.lab_thing.a
  id       = "x"
}
