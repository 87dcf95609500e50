terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

import {
  to = lab_thing.t
  id = "i1"
}
resource "lab_thing" "t" {
  name = "other"
  lifecycle { create_before_destroy = true }
}
output "id" { value = lab_thing.t.name }
