terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

locals {
  used   = "a"
  unused = "b"
}
resource "lab_thing" "a" {
  name = local.used
}
resource "lab_thing" "b" {
  name = "b-${lab_thing.a.size}"
}
output "id" {
  value = lab_thing.a.id
}
output "text" {
  value = "text"
}
