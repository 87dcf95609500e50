terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "step" { default = 1 }
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "i" { name = "i" }
import {
  to = lab_thing.i
  id = "lab-i"
}
