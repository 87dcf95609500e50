variable "n" {
  default = 2
}
module "m" {
  source = "./m"
  count  = var.n
  keep   = false
}
