variable "wanted" {
  default = "y"
}
resource "terraform_data" "a" {
  input = "x"
}
locals {
  given = terraform_data.a.output == var.wanted ? "z" : null
}
module "number" {
  source  = "./m"
  any     = local.given
  strings = local.given == null ? null : { k = local.given }
}
output "any" {
  value = module.number.any
}
output "list" {
  value = module.number.list
}
output "strings" {
  value = module.number.strings
}
