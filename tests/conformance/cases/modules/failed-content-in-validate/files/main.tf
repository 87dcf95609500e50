resource "terraform_data" "z" { input = "q" }
module "m" {
  source = "./m"
  v      = "x"
}
resource "terraform_data" "r" {
  input      = tonumber("r")
  depends_on = [module.m]
}
output "whole" { value = [module.m, tonumber("w")] }
output "one" { value = [module.m.good, tonumber("o")] }
output "attr" { value = module.m["good"] + 1 }
locals { l = module.m }
output "viaLocal" { value = [local.l, tonumber("l")] }
module "n" {
  source     = "./n"
  depends_on = [module.m]
}
