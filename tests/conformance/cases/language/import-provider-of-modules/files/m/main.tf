terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
  name = "a"
}
