terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "n" {
  type    = number
  default = 2
}
variable "size" {
  type    = number
  default = 1
}
resource "lab_thing" "t" {
  count = var.n
  name  = "t${count.index}"
  size  = var.size
}
data "lab_thing" "d" {
  name = lab_thing.t[0].name
}
