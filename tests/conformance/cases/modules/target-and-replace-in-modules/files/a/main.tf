variable "k" {}
resource "terraform_data" "top" {
  input = var.k
}
module "in" {
  source = "./in"
  up     = terraform_data.top.output
}
output "top" {
  value = terraform_data.top.output
}
