terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "size" { default = 1 }
resource "lab_thing" "a" {
  name = "a"
  size = var.size
}
resource "lab_thing" "b" {
  name = "b"
  size = var.size
}
output "a" { value = lab_thing.a.id }
