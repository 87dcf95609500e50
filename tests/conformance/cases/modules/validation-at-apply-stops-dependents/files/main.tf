resource "terraform_data" "u" {
  input = 1
}
module "m" {
  source = "./m"
  u = terraform_data.u.id
}
output "o" {
  value = module.m.o
}
