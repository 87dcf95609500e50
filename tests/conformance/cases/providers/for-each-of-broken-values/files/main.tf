terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "all" {
  type    = set(string)
  default = ["eu", "us"]
}
provider "lab" {
  alias    = "by"
  for_each = var.all
  region   = each.key
}
resource "lab_thing" "a" {
  for_each = var.all
  provider = lab.by[each.key]
  name     = each.key
}
