terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "region" { default = "r" }
resource "lab_thing" "a" { name = "a" }
output "region" { value = lab_thing.a.region }
