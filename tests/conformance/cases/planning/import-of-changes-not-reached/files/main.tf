terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

import {
  to = lab_thing.t
  id = "i1"
}
resource "lab_thing" "bad" {
  name = "bad"
  fail_on = "create"
}
resource "lab_thing" "t" {
  name = "two"
  size = 5
  notes = [lab_thing.bad.id]
  lifecycle { create_before_destroy = true }
}
