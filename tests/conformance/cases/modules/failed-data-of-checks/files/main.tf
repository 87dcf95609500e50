resource "terraform_data" "z" { input = "q" }
module "m" { source = "./m" }
output "o" {
  value      = 1
  depends_on = [module.m]
}
