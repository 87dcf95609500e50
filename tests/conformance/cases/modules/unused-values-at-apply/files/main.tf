
resource "terraform_data" "x" { input = "abc" }
locals {
  unused = tonumber(terraform_data.x.output)
  chain = local.unused + 1
}
module "m" {
  source = "./m"
  v = terraform_data.x.output
}
output "u" { value = 1 }
