terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "v" {
  default = 1
}
variable "fail" {
  default = "delete"
}
resource "lab_thing" "a" {
  name    = "a${var.v}"
  fail_on = var.fail
  lifecycle {
    create_before_destroy = true
  }
}
