terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_widget" "two" { title = "two" }
output "id" { value = lab_widget.two.id }
