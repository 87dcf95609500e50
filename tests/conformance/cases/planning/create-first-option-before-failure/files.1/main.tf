terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "v" { default = 1 }
resource "lab_singleton" "s" {
  name = "one"
  value = var.v
  lifecycle { create_before_destroy = true }
}
resource "lab_link" "l" {
  from = lab_singleton.s.value
  to = "x"
}
