
module "m" { source = "./m" }
output "o" { value = module.m.num }
resource "terraform_data" "y" { input = module.m.num }
resource "terraform_data" "z" { input = module.m.ok }
