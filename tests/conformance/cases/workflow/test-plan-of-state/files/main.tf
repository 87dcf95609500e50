terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "size" { default = 1 }
variable "name" { default = "a" }
resource "lab_thing" "a" {
  name = var.name
  size = var.size
}
output "id" { value = lab_thing.a.id }
output "size" { value = lab_thing.a.size }
