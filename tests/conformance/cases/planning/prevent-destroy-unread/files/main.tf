variable "keep" {
  default = false
}
variable "n" {
  default = 2
}
locals {
  k = var.keep
}
resource "terraform_data" "a" {
  lifecycle {
    prevent_destroy = local.k
  }
}
module "m" {
  source = "./m"
  count  = var.n
  keep   = var.keep
}
