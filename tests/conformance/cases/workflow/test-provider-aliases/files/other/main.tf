terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "o" { name = "o" }
output "region" { value = lab_thing.o.region }
