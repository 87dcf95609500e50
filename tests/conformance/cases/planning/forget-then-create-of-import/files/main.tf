terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
import {
 to=lab_thing.t
 id="i1"
}
resource "lab_thing" "t" {
 name="two"
 lifecycle {
 destroy=false
 create_before_destroy=true
 }
}
