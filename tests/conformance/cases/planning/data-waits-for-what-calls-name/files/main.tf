variable "sz" { default = 1 }
resource "lab_thing" "a" {
  name = "a"
  size = var.sz
}
resource "lab_thing" "steady" {
  name = "steady"
  depends_on = [lab_thing.a]
}
module "d" {
  source = "./d"
  depends_on = [lab_thing.steady]
}
module "n" {
  source = "./n"
  depends_on = [lab_thing.a]
}
locals { l = lab_thing.a.name }
data "lab_things" "vialocal" {
  color      = "red"
  depends_on = [local.l]
}
output "o" { value = [module.d.names, module.n.names] }
