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
resource "lab_thing" "b" {
  name = "b"
}
resource "lab_thing" "c" {
  name = "c"
}
resource "lab_thing" "d" {
  name = "d"
}

data "lab_region" "r" {}
output "ids" { value = [lab_thing.a.id, lab_thing.b.id, lab_thing.c.id, lab_thing.d.id, data.lab_region.r.name] }
output "region" { value = lab_thing.b.region }
