terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias  = "other"
  region = "o"
}
import {
  provider = lab.other
  to       = lab_thing.a
  id       = "x"
}
import {
  provider = lab.other
  to       = lab_thing.b
  id       = "y"
}
import {
  provider = lab
  to       = lab_thing.c
  id       = "z"
}
resource "lab_thing" "a" {
  name = "a"
}
resource "lab_thing" "b" {
  provider = lab.other
  name     = "b"
}
resource "lab_thing" "c" {
  provider = lab.other
  name     = "c"
}
