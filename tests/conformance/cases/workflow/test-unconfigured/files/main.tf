terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  fail_configure = "not here"
}
resource "lab_thing" "a" { name = "a" }
