terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "in" {
  name = "in"
}

data "lab_region" "r" {}

output "o" {
  value = data.lab_region.r.name
}
