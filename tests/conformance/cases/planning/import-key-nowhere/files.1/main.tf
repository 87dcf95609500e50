resource "terraform_data" "a" {
  for_each = toset(["x"])
}

module "m" {
  source   = "./m"
  for_each = toset(["x"])
}

resource "terraform_data" "c" {
  input = 1
}

import {
  to = terraform_data.a["p"]
  id = "i1"
}

import {
  for_each = { q = "i2", x = "i3" }
  to       = module.m[each.key].terraform_data.i
  id       = each.value
}

import {
  to = terraform_data.c
  id = "i4"
}
