terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" {
  default = 2
}
resource "lab_singleton" "s" {
  name = "s${var.n}"
}
resource "lab_widget" "w" {
  title = lab_singleton.s.name
}
