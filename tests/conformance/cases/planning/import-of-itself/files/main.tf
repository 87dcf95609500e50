terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = "a"
}
import {
  to       = lab_thing.a
  identity = { name = lab_thing.a.id }
}
