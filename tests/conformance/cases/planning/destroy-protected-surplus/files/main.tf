terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  count = 2
  name  = "a"
}
resource "lab_thing" "b" {
  name = "b"
}
output "first" {
  value = lab_thing.a[0].id
}
