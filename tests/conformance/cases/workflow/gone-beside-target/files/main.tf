terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

resource "lab_thing" "a" {
  count = 2
  name  = "a${count.index}"
}
resource "lab_widget" "w" { title = lab_thing.a[0].id }
