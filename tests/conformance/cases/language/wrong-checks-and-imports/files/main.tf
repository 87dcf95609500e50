terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
check "a" {}
check {}
check "b" {
  assert {}
}
check "c" {
  data "lab_thing" "x" {
    name  = "x"
    count = 2
  }
  data "lab_thing" "y" {
    name = "y"
  }
  assert {
    condition     = true
    error_message = "x"
  }
}
check "c" {
  assert {
    condition     = data.lab_thing.z.name == "x"
    error_message = "x"
  }
}
moved {
  from = lab_thing.a
}
moved {
  from = lab_thing.a
  to   = data.lab_thing.b
}
moved {
  from = lab_thing.a["${var.x}"]
  to   = lab_thing.b
}
moved {
  from = lab_thing.a
  to   = lab_thing.a
}
moved {
  from = module.a
  to   = lab_thing.b
}
moved {
  from = local.x
  to   = var.y
}
removed {}
removed {
  from = lab_thing.q[0]
}
removed {
  from = data.lab_thing.z
}
removed {
  from = lab_thing.w
  lifecycle {}
}
removed {
  from = lab_thing.v
  lifecycle {
    destroy = var.x
  }
}
import {}
import {
  to = lab_thing.a
}
import {
  id = "x"
}
import {
  to = data.lab_thing.x
  id = "x"
}
import {
  to = lab_thing.n[var.x]
  id = ""
}
import {
  to       = lab_thing.n
  id       = "x"
  identity = { name = "x" }
}
import {
  for_each = 5
  to       = lab_thing.n
  id       = "x"
}
import {
  to       = "lab_thing.n"
  id       = 1
  provider = nope.x
}
