terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "v" { default = 1 }
variable "c" { default = false }
resource "lab_singleton" "s" {
  name = "one"
  value = var.v
}
resource "lab_link" "l" {
  from = lab_singleton.s.value
  to = "x"
}
