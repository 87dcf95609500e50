terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  no_such_argument = true
}

resource "lab_no_such_type" "a" {
}

data "lab_no_such_source" "b" {
}

resource "lab_thing" "c" {
  nothing = 1
}

output "d" {
  value = lab_thing.c.id
}
