terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias    = "r"
  for_each = toset(["eu", "us"])
  region   = each.key
}

locals {
  pairs = { one = ["eu", 1], two = ["ue", 2] }
}

resource "lab_thing" "t" {
  for_each = { one = ["eu", 1], two = ["ue", 2] }
  provider = lab.r[each.value[0]]
  name     = each.key
}

resource "lab_thing" "named" {
  for_each = { one = { region = "eu" } }
  provider = lab.r[each.value["region"]]
  name     = each.key
}

resource "lab_thing" "local" {
  provider = lab.r[local.pairs["two"][0]]
  name     = "local"
}

resource "lab_thing" "literal" {
  provider = lab.r["uz"]
  name     = "literal"
}
