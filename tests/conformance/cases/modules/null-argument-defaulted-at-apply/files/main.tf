variable "set" {
  default = false
}
resource "terraform_data" "src" {
  input = "w"
  triggers_replace = var.set
}
module "m" {
  source = "./m"
  name   = terraform_data.src.output == "w" && !var.set ? null : "given"
  conf   = terraform_data.src.output == "w" && !var.set ? null : { a = 5 }
}
resource "terraform_data" "use" {
  input = [module.m.name, module.m.conf]
}
output "m" {
  value = module.m
}
