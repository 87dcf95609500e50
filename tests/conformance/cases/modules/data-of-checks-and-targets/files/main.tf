terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "terraform_data" "z" { input = "q" }
module "m" { source = "./m" }
resource "terraform_data" "r" { depends_on = [module.m] }
