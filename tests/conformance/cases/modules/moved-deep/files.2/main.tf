terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "back" { name = "top" }
moved {
  from = module.a["k"].lab_thing.was_top
  to = lab_thing.back
}
removed {
  from = module.a
  lifecycle {
    destroy = false
  }
}
