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
 depends_on=[lab_thing.a]
}
resource "lab_thing" "c" {
 name="c"
 labels={x=lab_thing.a.id}
 lifecycle { create_before_destroy=true }
}
