variable "name" {}
module "thing" {
  source = "./thing"
  name   = var.name
}
