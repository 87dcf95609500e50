resource "terraform_data" "a" {
  input = 1
}

module "m" {
  source = "./m"
}

module "c" {
  source = "./m"
  count  = 2
}

module "e" {
  source   = "./m"
  for_each = toset(["k"])
}

module "u" {
  source = "./m"
}

output "m" {
  value = module.m.o
}

output "c" {
  value = module.c[*].o
}

output "e" {
  value = module.e["k"].o
}
