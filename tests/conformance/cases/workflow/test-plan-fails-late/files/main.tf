terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
resource "lab_thing" "a" { name = "a" }
resource "lab_widget" "w" {
  title = "w"
  size  = var.n > 1 ? tonumber("x") : var.n
}
