variable "x" {
  default = 1
}
module "m" {
  source   = "./m"
  for_each = toset(["p", "q"])
  x        = var.x
}
module "c" {
  source = "./m"
  count  = 2
  x      = var.x
}
module "s" {
  source = "./m"
  x      = var.x
}
