terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "regions" {
  type    = set(string)
  default = ["a", "b"]
}
provider "lab" {
  alias    = "by"
  for_each = var.regions
  region   = each.key
}
resource "lab_thing" "t" {
  for_each = var.regions
  provider = lab.by[each.key]
  name     = each.key
}
module "m" {
  source   = "./m"
  for_each = var.regions
  providers = {
    lab = lab.by[each.key]
  }
}
output "m" { value = { for k, m in module.m : k => m.region } }
