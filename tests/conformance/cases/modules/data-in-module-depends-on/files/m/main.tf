terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" {}
data "lab_thing" "t" {
  name = var.name
}
resource "terraform_data" "r" {
  input = data.lab_thing.t.size
}
output "size" {
  value = data.lab_thing.t.size
}
