resource "terraform_data" "r" { input = 1 }
module "m" {
  source = "./m"
  v      = terraform_data.r.id
}
resource "terraform_data" "i" { depends_on = [module.m] }
