resource "terraform_data" "x" {}
resource "terraform_data" "y" { input = tomap({ k = { a = 1 } }) }
module "b" { source = "./n" }
