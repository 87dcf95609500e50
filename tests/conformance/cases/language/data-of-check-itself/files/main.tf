terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
check "a" {
  data "lab_thing" "q" {
    name = data.lab_thing.q.name
  }
  assert {
    condition     = data.lab_thing.q.name == "x"
    error_message = "x"
  }
}
