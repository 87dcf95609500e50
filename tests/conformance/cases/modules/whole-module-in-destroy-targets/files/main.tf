resource "terraform_data" "r" { input = "x" }
module "m" {
  source = "./m"
  v      = terraform_data.r.output
}
resource "terraform_data" "i" { depends_on = [module.m] }
