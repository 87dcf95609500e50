terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
 name="a"
 lifecycle { destroy=false }
}
resource "lab_thing" "t" {
 name="t"
 labels={x=lab_thing.a.id}
 lifecycle { create_before_destroy=true }
}
