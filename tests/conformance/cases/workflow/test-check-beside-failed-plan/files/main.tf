terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "size" {
  default = 4
}
resource "lab_thing" "a" {
  name = "a"
  size = var.size
  lifecycle {
    precondition {
      condition     = var.size != 4
      error_message = "four"
    }
  }
}
check "health" {
  data "lab_thing" "x" {
    name = "missing"
  }
  assert {
    condition     = var.size == 5
    error_message = "not five"
  }
}
