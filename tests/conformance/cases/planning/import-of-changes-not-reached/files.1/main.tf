terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "bad" {
  name = "bad"
}
resource "lab_thing" "t" {
  name = "two"
  size = 5
  notes = [lab_thing.bad.id]
  lifecycle { create_before_destroy = true }
}
