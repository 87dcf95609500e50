variable "ports" {
  type    = set(number)
  default = [80]
}
module "m" {
  source = "./m"
}
module "n" {
  source   = "./m"
  for_each = var.ports
}
