terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" { name = "t" }
check "c" {
  data "lab_thing" "d" { name = "t" }
  assert {
    condition = data.lab_thing.d.name == "t"
    error_message = "other name"
  }
}
