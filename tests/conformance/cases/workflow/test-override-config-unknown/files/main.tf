terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "real" { name = "real" }
resource "lab_thing" "over" {
  name = "over"
  zone = lab_thing.real.zone
  color = lab_thing.real.id
}
data "lab_echo" "d" {
  value = lab_thing.real.id
}
output "zone" { value = lab_thing.over.zone }
