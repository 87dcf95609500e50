variable "b" {
  default = "b"
  validation {
    condition     = var.b != "z" && var.b != "zz"
    error_message = "first"
  }
  validation {
    condition     = var.b != "zz" && var.b != local.also
    error_message = "second"
  }
}
locals {
  also = "z"
}
module "m" {
  source = "./m"
  n      = -1
}
