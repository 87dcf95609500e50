terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "b" { name = "b" }
output "id" { value = lab_thing.b.id }
