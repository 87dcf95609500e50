variable "n" { default = 1 }
module "m" {
  source = "./m"
  count  = 2
  n      = var.n + count.index
}
