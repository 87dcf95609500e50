terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  region = lab_thing.a.nope
  token = var.missing
}
resource "lab_thing" "a" { name = "a" }
