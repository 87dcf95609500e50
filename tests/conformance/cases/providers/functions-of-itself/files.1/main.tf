provider "lab" {
  region = local.r
}
locals {
  r = provider::lab::upper("x")
}
resource "lab_thing" "t" {
  name = "t"
}
