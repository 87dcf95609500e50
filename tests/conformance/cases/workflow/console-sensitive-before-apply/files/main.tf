terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = "x"
}
resource "lab_widget" "w" {
  title = "t"
}
data "lab_region" "r" {}
resource "lab_thing" "n" {
  count = 1
  name = "y"
}
