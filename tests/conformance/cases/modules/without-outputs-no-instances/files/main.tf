module "m" {
  source   = "./m"
  for_each = { a = 1, b = 2 }
}
module "c" {
  source = "./m"
  count  = 2
}
module "s" { source = "./m" }
resource "terraform_data" "after" { for_each = module.m }
output "m" { value = module.m }
output "n" { value = length(module.c) }
output "s" { value = module.s }
