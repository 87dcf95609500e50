variable "keep" {}
module "i" {
  source = "../m"
  keep   = var.keep
}
