terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
 name="a"
}
resource "lab_thing" "b" {
 name="b"
}
resource "lab_thing" "c" {
 name="c"
 labels={x=lab_thing.b.id}
}
