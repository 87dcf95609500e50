terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
  provider_meta "lab" {
    announce = "x"
  }
}
resource "lab_thing" "a" {
  count = 2
  name = "a${count.index}"
}
resource "lab_thing" "b" {
  name = "b"
}
