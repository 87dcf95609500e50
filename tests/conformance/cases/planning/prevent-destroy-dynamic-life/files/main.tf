variable "keep" {
  type    = bool
  default = true
}
variable "drop" {
  type    = bool
  default = false
}
variable "name" {
  default = "n"
}
module "m" {
  source   = "./m"
  for_each = var.drop ? toset(["a"]) : toset(["a", "b"])
  keep     = var.keep
  name     = "${var.name}-${each.key}"
}
