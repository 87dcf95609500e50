terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  count = 0
  name  = "a"
  lifecycle {
    prevent_destroy = true
  }
}
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    prevent_destroy = true
  }
}
output "first" {
  value = lab_thing.a[0].id
}
