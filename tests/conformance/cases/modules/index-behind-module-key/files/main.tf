module "m" {
  source = "./m"
  count  = 2
}
resource "terraform_data" "i" { input = module.m[0]["o"] }
