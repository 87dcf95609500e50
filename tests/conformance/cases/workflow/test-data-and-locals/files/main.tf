terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 2 }
locals {
  double = var.n * 2
  made   = lab_thing.a.name
}
resource "lab_thing" "a" { name = "a${local.double}" }
data "lab_echo" "e" {
  value = { n = local.double, name = lab_thing.a.name }
}
data "lab_region" "late" {
  depends_on = [lab_thing.a]
}
module "m" {
  source = "./m"
  list   = [local.double, var.n]
}
output "sum" { value = module.m.sum }
