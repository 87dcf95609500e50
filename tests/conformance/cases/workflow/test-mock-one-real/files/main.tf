terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  alias  = "real"
  region = "real"
}
resource "lab_thing" "m" { name = "m" }
resource "lab_thing" "r" {
  provider = lab.real
  name     = "r-${lab_thing.m.id}"
}
