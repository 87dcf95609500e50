terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" { default = "a" }
variable "fail" { default = null }
resource "lab_thing" "a" {
  name    = var.name
  fail_on = var.fail
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_link" "l" {
  from = lab_thing.a.id
  to   = "x"
}
