terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}
resource "lab_widget" "a" { title = "a" }
