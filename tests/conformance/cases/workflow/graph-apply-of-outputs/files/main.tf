resource "terraform_data" "a" {
  input = "1"
}
locals {
  l = terraform_data.a.id
}
resource "terraform_data" "b" {
  input = local.l
}
module "m" {
  source = "./m"
  v = terraform_data.b.id
}
output "direct" {
  value = terraform_data.b.id
}
output "vial" {
  value = local.l
}
output "viam" {
  value = module.m.o
}
