terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" {
  default = 1
}
resource "lab_singleton" "s" {
  name = "s${var.n}"
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_link" "l" {
  from = lab_singleton.s.id
  to   = "x"
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_widget" "w" {
  title = lab_link.l.id
}
