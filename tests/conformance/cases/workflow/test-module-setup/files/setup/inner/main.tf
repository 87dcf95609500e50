terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" {}
resource "lab_widget" "i" { title = "inner-${var.name}" }
output "name" { value = lab_widget.i.title }
