resource "terraform_data" "none" {
  input = 1
}
output "none" {
  value = 1
}
variable "none" {
}
locals {
  none = 1
}
module "none" {
  source = "./m"
}
