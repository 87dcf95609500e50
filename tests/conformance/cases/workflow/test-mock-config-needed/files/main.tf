terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  fail_configure = "no"
}
resource "lab_thing" "a" {
  name = "a"
}
output "up" { value = provider::lab::upper("x") }
