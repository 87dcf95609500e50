terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "s" {
 default="x"
 sensitive=true
}
resource "lab_thing" "a" {
 name="a"
 color="y"
 labels={ k="z" }
 lifecycle { ignore_changes=[color, labels["k"]] }
}
