terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "a" { name = "a" }
resource "lab_widget" "w" { title = "z${length(lab_thing.a.zone)}" }
