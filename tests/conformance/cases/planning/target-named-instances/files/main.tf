resource "terraform_data" "a" {
  count = 3
  input = count.index
}

resource "terraform_data" "b" {
  input = terraform_data.a[1].output
}

resource "terraform_data" "c" {
  input = local.last
}

locals {
  last = terraform_data.a[2].id
}

resource "terraform_data" "d" {
  input = terraform_data.a[*].id
}

module "m" {
  source   = "./m"
  for_each = { p = 1, q = 2 }
  v        = terraform_data.a[0].output
}

resource "terraform_data" "e" {
  input = module.m["p"].o
}

output "b" {
  value = terraform_data.b.output
}

output "all" {
  value = terraform_data.a[*].output
}
