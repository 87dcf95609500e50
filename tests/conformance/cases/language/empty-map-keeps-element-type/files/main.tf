variable "no" {
  default = false
}

locals {
  texts   = var.no ? { a = "x", b = true } : {}
  numbers = tomap(var.no ? tomap({ a = 1 }) : {})
}

output "texts" {
  value = tomap(local.texts)
}

output "numbers" {
  value = local.numbers
}

output "nothing" {
  value = tomap({})
}

output "nested" {
  value = tomap(var.no ? { a = [1] } : {})
}

output "inner" {
  value = tomap({ x = local.texts })
}

module "m" {
  source = "./m"
  any    = local.texts
  inner  = { x = local.numbers }
  object = { of = local.texts }
}

output "given" {
  value = module.m
}

resource "terraform_data" "a" {
  input = tomap(local.texts)
}
