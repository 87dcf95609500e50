variable "n" {
  default = 1
}
module "m" {
  source = "./o"
  count  = var.n
  keep   = false
}
