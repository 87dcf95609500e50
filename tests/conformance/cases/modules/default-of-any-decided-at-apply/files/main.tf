resource "terraform_data" "z" { input = "q" }
module "m" {
  source = "./m"
  v      = terraform_data.z.id == "" ? { a = { s = "z" } } : { a = { s = null } }
}
output "o" { value = module.m.o }
