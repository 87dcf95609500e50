terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "terraform_data" "z" { input = "q" }
module "m" { source = "./m" }
module "n" {
  source     = "./m"
  depends_on = [module.m]
}
resource "terraform_data" "last" { depends_on = [module.n] }
