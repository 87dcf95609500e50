terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}
resource "lab_widget" "b" { title = "a" }
moved {
  from = lab_widget.a
  to   = lab_widget.b
}
output "o" { value = 1 }
