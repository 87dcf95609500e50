terraform {
  required_providers {
    lab = {
      source                = "weft.test/lab/lab"
      configuration_aliases = []
    }
  }
}

provider "lab" {
  alias  = "west"
  region = "west"
}
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "w" {
  provider = lab.west
  name     = "w"
}
