module "m" {
  source   = "./m"
  for_each = { a = 1, b = 2 }
}
module "c" {
  source = "./m"
  count  = 2
}
output "m" { value = module.m["a"] }
output "n" { value = module.c[0] }
