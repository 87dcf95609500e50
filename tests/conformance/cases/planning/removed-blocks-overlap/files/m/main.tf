terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_widget" "x" {
  title = "x"
}
resource "lab_widget" "y" {
  title = "y"
}
