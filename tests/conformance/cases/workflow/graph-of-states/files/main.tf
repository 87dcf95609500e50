terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "used" { default = 1 }
variable "unused" { default = 1 }
locals {
  unused = 1
  used   = terraform_data.a.id
}
provider "lab" { region = local.used }
resource "terraform_data" "a" { input = var.used }
resource "terraform_data" "lonely" {}
data "lab_region" "r" {}
resource "lab_thing" "t" { name = "t" }
module "m" {
  source = "./m"
  count  = 2
  n      = terraform_data.a.id
}
module "u" { source = "./n" }
output "o" { value = module.m[0].n }
check "c" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "x"
  }
}
