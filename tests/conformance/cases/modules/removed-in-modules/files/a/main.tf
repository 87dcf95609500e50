resource "terraform_data" "x" {}
module "deep" {
  source = "./deep"
}
