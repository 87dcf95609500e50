resource "terraform_data" "a" { input = "a" }
module "m" {
  source = "./m"
  object = terraform_data.a.id == "" ? { name = "x" } : { name = "y" }
  list   = terraform_data.a.id == "" ? [{ name = "x" }] : [{ name = "y" }]
}
output "o" { value = module.m.known }
output "v" { value = module.m.values }
