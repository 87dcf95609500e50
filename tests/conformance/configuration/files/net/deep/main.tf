terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
variable "label" {
  type     = string
  nullable = false
}
resource "lab_widget" "d" {
  title = var.label
}
resource "terraform_data" "d" {}
output "out" {
  value = { a = lab_widget.d.size }
}
