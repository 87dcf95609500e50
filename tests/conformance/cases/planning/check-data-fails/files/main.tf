terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

locals {
  one = 1
}

resource "lab_thing" "t" {
  name = "t"
}

check "found_later" {
  data "lab_thing" "t" {
    name = "t"
  }
  assert {
    condition     = data.lab_thing.t.size > 5
    error_message = "Size ${data.lab_thing.t.size}."
  }
  assert {
    condition     = local.one > 2
    error_message = "Fails anyway."
  }
  assert {
    condition     = local.one < 2
    error_message = "Holds anyway."
  }
}

check "never_found" {
  data "lab_thing" "u" {
    name = "u"
  }
  assert {
    condition     = data.lab_thing.u.size > 5
    error_message = "Size of u."
  }
  assert {
    condition     = local.one > 2
    error_message = "Fails anyway, u."
  }
  assert {
    condition     = lab_thing.t.size > 2
    error_message = "Fails then, u."
  }
}

check "found_not_named" {
  data "lab_thing" "v" {
    name = "v"
  }
  assert {
    condition     = local.one < 2
    error_message = "Holds anyway, v."
  }
}

check "not_found_then" {
  data "lab_thing" "w" {
    name = "x${lab_thing.t.size}"
  }
  assert {
    condition     = data.lab_thing.w.size > 5
    error_message = "Size of w."
  }
  assert {
    condition     = local.one > 2
    error_message = "Fails anyway, w."
  }
}

resource "lab_thing" "goes" {
  count = var.goes
  name  = "goes"
}

variable "goes" {
  default = 0
}

check "gone_then" {
  data "lab_thing" "x" {
    name = "goes"
  }
  assert {
    condition     = data.lab_thing.x.size > 5
    error_message = "Size of x."
  }
}
