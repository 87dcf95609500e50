resource "terraform_data" "t" {
  lifecycle { enabled = false }
}
module "m" {
  source = "./m"
  lifecycle { enabled = false }
}
output "t" { value = [terraform_data.t] }
output "m" { value = [module.m] }
