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

data "lab_thing" "d" {
  name       = lab_thing.a.name
  depends_on = [lab_thing.a]
}

resource "lab_thing" "b" {
  name = "b-${data.lab_thing.d.id}"
}

resource "lab_thing" "c" {
  name = "c"
}
