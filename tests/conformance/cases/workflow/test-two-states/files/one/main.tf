terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
resource "lab_widget" "one" {
  title = "one"
  size  = var.n
}
