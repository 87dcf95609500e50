terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" {
  name = "t"
}

resource "lab_thing" "u" {
  name = "u"
}

import {
  to = lab_thing.u
  id = "lab-000000000001"
}
