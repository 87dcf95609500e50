terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "color" { default = "red" }
resource "lab_thing" "a" {
  name  = "a"
  color = var.color
}
resource "lab_thing" "b" {
  name = "b-${lab_thing.a.id}"
}
output "id" { value = lab_thing.a.id }
