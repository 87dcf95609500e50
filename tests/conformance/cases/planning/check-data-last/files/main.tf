terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

check "things" {
  data "lab_things" "found" {
  }
  assert {
    condition     = length(data.lab_things.found.names) < 3
    error_message = "Too many."
  }
}

resource "lab_thing" "t" {
  name = "t"
}
