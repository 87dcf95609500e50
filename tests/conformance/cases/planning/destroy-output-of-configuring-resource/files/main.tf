terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
variable "r" {
 default = "one"
}
resource "terraform_data" "r" {
 input = var.r
}
provider "lab" {
 region = terraform_data.r.input
}
resource "lab_thing" "a" {
 name = "a"
}
output "r" {
 value = terraform_data.r.input
}
output "s" {
 value = "x${terraform_data.r.output}"
}
