terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "n" { default = "a" }
resource "lab_thing" "t" {
  count = 2
  name = "${var.n}${count.index}"
  lifecycle {
    destroy = false
    create_before_destroy = true
  }
}
