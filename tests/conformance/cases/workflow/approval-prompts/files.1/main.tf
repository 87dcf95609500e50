terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name = "a"
  size = 5
}

resource "lab_thing" "b" {
  name = "b"
  size = lab_thing.a.size
}
