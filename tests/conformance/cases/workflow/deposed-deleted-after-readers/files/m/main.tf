terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "n" {}
resource "lab_thing" "in" {
  count = 2
  name  = "${var.n}-${count.index}"
}
