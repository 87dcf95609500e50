variable "v" {
  type    = strin
  default = 1
}
output "o" {
}
module "m" {
  source = "./m"
  providers = {
    terraform   = terraform
    "terraform" = terraform
  }
}
resource "terraform_data" "x" {
  provisioner "local-exec" {
    when    = wrong
    command = "true"
  }
}
