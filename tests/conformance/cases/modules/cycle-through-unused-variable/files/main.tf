resource "terraform_data" "z" { input = "q" }
module "m" {
  source = "./m"
  v      = module.n.o
}
module "n" {
  source     = "./m"
  v          = 1
  depends_on = [module.m]
}
