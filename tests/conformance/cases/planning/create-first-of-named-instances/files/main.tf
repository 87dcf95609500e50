variable "size" {
  default = 1
}

resource "terraform_data" "named" {
  count = 3
  input = var.size
}

resource "terraform_data" "through_local" {
  for_each = toset(["x", "y"])
  input    = var.size
}

resource "terraform_data" "through_module" {
  count = 2
  input = var.size
}

resource "terraform_data" "below_named" {
  count = 2
  input = terraform_data.lowest[1].input
}

resource "terraform_data" "lowest" {
  count = 2
  input = var.size
}

resource "terraform_data" "whole" {
  count = 2
  input = var.size
}

resource "terraform_data" "both" {
  count = 2
  input = var.size
}

locals {
  x = terraform_data.through_local["x"].input
}

module "m" {
  source = "./m"
  given  = terraform_data.through_module[0].input
}

resource "terraform_data" "first" {
  input = [
    terraform_data.named[0].input, terraform_data.named[2].input, local.x, module.m.inside,
    terraform_data.below_named[0].input, length(terraform_data.whole), terraform_data.both[0].input,
    length(terraform_data.both),
  ]
  lifecycle {
    create_before_destroy = true
  }
}
