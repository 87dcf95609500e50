terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name = "there"
  size = 4
}
import {
  to = lab_thing.a
  identity = {
    name = "there"
  }
}
