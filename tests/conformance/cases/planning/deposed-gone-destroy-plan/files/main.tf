terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "n" { default="a" }
resource "lab_thing" "t" {
 name=var.n
 fail_on="delete"
 lifecycle { create_before_destroy=true }
}
