terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "b" { name = "b" }
resource "lab_widget" "w" { title = "z${length(lab_thing.b.zone)}" }
