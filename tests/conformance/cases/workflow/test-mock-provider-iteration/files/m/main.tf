terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "t" { name = "m" }
output "region" { value = lab_thing.t.region }
