variable "which" {
  type = string
}
locals {
  dir = "../${var.which}"
}
module "leaf" {
  source = local.dir
}
output "o" {
  value = module.leaf.o
}
