terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_widget" "w" { title = "w" }
output "id" { value = lab_widget.w.id }
