terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "region" { default = "own" }
provider "lab" {
  region = var.region
}
resource "lab_thing" "m" { name = "m" }
output "region" { value = lab_thing.m.region }
