resource "terraform_data" "z" { input = "q" }
module "m" {
  source = "./m"
  v      = terraform_data.r.id
}
resource "terraform_data" "r" { input = module.m }
