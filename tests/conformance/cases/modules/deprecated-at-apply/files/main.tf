module "m" {
  source = "./m"
  v = 1
}
resource "terraform_data" "a" {
  input = module.m.core
}
output "o" {
  value = module.m.core
}
locals { x = module.m.core }
output "p" {
  value = "${module.m.core}-${terraform_data.a.id}"
}
locals { y = module.m.core }
output "q" {
  value = "${local.y}-${terraform_data.a.id}"
}
output "q2" {
  value = "${local.y}-"
}
