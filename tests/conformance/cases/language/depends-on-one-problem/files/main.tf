variable "v" {
  default = 1
}
locals {
  l = 1
}
resource "terraform_data" "one" {
}
resource "terraform_data" "each" {
  for_each = toset(["a"])
}
module "m" {
  source = "./m"
}
resource "terraform_data" "module" {
  depends_on = [module.none, var.none]
}
resource "terraform_data" "local" {
  depends_on = [local.none, module.none]
}
resource "terraform_data" "repetition" {
  depends_on = [each.key, var.none]
}
resource "terraform_data" "count" {
  count      = 1
  depends_on = [count.index]
}
resource "terraform_data" "part" {
  depends_on = [terraform_data.one.id, var.none, terraform_data.each["a"].id]
}
resource "terraform_data" "key" {
  depends_on = [terraform_data.one[0], var.none]
}
resource "terraform_data" "fine" {
  depends_on = [module.m, module.m.none, module.m.o, var.v, local.l, path.module, terraform.workspace, terraform_data.each, terraform_data.each["b"]]
}
data "terraform_remote_state" "x" {
  backend    = "local"
  depends_on = [module.none, var.none]
}
output "part" {
  value      = 1
  depends_on = [terraform_data.one.id, var.none]
}
output "module" {
  value      = var.gone
  depends_on = [module.none.o, var.none]
}
module "resource" {
  source     = "./m"
  in         = var.gone
  depends_on = [terraform_data.none, var.none]
}
module "n" {
  source     = "./m"
  in         = var.gone
}
module "key" {
  source     = "./m"
  depends_on = [terraform_data.one["x"]]
}
