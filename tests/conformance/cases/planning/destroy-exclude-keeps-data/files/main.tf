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
 labels = { a = lab_thing.a.id }
}
resource "lab_thing" "c" {
 name = "c"
}
data "lab_thing" "of_b" {
 name = lab_thing.b.name
}
data "lab_thing" "of_c" {
 name = lab_thing.c.name
}
output "b" {
 value = data.lab_thing.of_b.size
}
output "c" {
 value = data.lab_thing.of_c.size
}
