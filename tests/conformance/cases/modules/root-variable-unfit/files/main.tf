variable "on" {
  type    = bool
  default = true
}
module "m" {
  source = "./m"
  lifecycle {
    enabled = var.on
  }
}
