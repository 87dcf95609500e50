terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "r" {
 name="r"
 lifecycle { create_before_destroy=true }
}
