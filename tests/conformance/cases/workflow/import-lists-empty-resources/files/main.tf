terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  alias  = "west"
  region = "west"
}
resource "lab_thing" "kept" {
  name = "kept"
}
resource "lab_thing" "other" {
  name = "other"
}
resource "lab_thing" "none" {
  count    = 0
  provider = lab.west
  name     = "none"
}
data "lab_things" "none" {
  for_each = toset([])
}
module "inner" {
  source = "./inner"
  providers = {
    lab = lab.west
  }
}
module "absent" {
  count  = 0
  source = "./inner"
}
