terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "s" {
  sensitive = true
  default   = "s"
}
resource "lab_thing" "b" {
  name   = "a"
  labels = { p = "s" }
}
moved {
  from = lab_thing.a
  to   = lab_thing.b
}
resource "lab_thing" "n" {
  name = "n"
  rule {
    port = 1
    cidr = "s"
  }
  replicas = [{ zone = "s" }]
}
import {
  to = lab_thing.i
  id = "lab-0000000000f1"
}
resource "lab_thing" "i" {
  name   = "i"
  labels = { p = var.s }
}
resource "terraform_data" "m" {
  input = sensitive({ p = "s" })
}

