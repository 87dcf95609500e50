terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "b" {
  name = "b"
}
data "lab_thing" "d" {
  name = lab_thing.b.name
}
data "lab_thing" "e" {
  for_each = { k = lab_thing.b.name }
  name     = each.value
}
output "o" {
  value = data.lab_thing.d.id
}
output "p" {
  value = data.lab_thing.e["k"].id
}
