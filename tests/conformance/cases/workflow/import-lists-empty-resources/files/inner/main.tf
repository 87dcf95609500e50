terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "none" {
  count = 0
  name  = "none"
}
resource "terraform_data" "some" {
}
