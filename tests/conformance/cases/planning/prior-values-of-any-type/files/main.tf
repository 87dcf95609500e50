terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_any" "a" {
  value = 3
}

resource "lab_thing" "b" {
  name = "b"
}
