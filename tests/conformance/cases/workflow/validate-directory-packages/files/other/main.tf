terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = file("f.txt")
  size = file("${path.module}/g.txt")
}
