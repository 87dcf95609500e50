terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
resource "lab_widget" "main" {
  title = "main"
  size  = var.n
}
output "n" { value = lab_widget.main.size }
