provider "lab" {
  region = module.m.n.out
}
module "m" {
  source = "./m"
}
