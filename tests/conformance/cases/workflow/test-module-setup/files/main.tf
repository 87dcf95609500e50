terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "prefix" {}
resource "lab_widget" "w" {
  title = "${var.prefix}-main"
}
output "title" {
  value = lab_widget.w.title
}
