terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "n" { default = "a" }
resource "lab_thing" "t" {
  count = 1
  name = "${var.n}${count.index}"
}
