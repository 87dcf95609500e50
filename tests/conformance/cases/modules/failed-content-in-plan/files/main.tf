variable "w" { default = "z" }
resource "terraform_data" "z" { input = "q" }
module "m" {
  source = "./m"
  v      = var.w
}
resource "terraform_data" "r" {
  input      = 1
  depends_on = [module.m]
}
resource "terraform_data" "s" { input = module.m }
output "whole" { value = [module.m] }
output "one" { value = [module.m.good] }
locals { l = module.m }
output "viaLocal" { value = [local.l] }
module "n" {
  source     = "./n"
  depends_on = [module.m]
}
module "o" {
  source = "./n"
  v      = module.m
}
module "q" {
  source = "./n"
  v      = module.m.good
}
