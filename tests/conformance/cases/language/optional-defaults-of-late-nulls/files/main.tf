variable "wanted" { default = "y" }
resource "terraform_data" "a" { input = "x" }
locals { given = terraform_data.a.output == var.wanted ? "z" : null }
module "m" {
 source="./m"
 v={ x = { y = [{ a = local.given }, { }] } }
}
output "o" {
 value=module.m.o
}
