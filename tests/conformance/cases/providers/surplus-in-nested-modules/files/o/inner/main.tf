terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "name" { type = string }
resource "lab_thing" "in" { name = var.name }
