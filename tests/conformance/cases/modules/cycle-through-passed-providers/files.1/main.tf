provider "lab" {
  alias  = "a"
  region = module.m.n.out
}
module "m" {
  source    = "./m"
  providers = { lab = lab.a }
}
