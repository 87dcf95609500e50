terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
 name="old"
}
resource "lab_thing" "b" {
 name="b-${lab_thing.a.size}"
}
