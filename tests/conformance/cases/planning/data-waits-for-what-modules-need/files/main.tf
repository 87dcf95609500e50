variable "sz" { default = 1 }
resource "lab_thing" "a" {
  name = "a"
  size = var.sz
}
module "d" {
  source = "./d"
  depends_on = [lab_thing.a]
}
module "e" {
  source = "./d"
}
module "f" {
  source = "./f"
  n = lab_thing.a.name
}
data "lab_things" "viad" {
  color      = "red"
  depends_on = [module.d]
}
data "lab_things" "viae" {
  color      = "red"
  depends_on = [module.e]
}
data "lab_things" "viaf" {
  color      = "red"
  depends_on = [module.f]
}
data "lab_things" "viadata" {
  color      = "red"
  depends_on = [data.lab_region.r]
}
data "lab_things" "viadata2" {
  color      = "red"
  depends_on = [data.lab_thing.n]
}
data "lab_region" "r" { depends_on = [lab_thing.a] }
data "lab_thing" "n" { name = lab_thing.a.name }
data "lab_region" "out" { depends_on = [module.f.o] }
resource "lab_thing" "steady" {
  name = "steady"
  depends_on = [lab_thing.a]
}
data "lab_things" "viasteady" {
  color      = "red"
  depends_on = [lab_thing.steady]
}
