module "a" {
  source  = "ns/name"
  version = "x"
}
module "b" {
  source  = "a/b/c"
  version = "bogus"
}
module "d" {
  source  = "./c"
  version = var.none
}
variable "none" { type = string }
module "z" { source = "nope" }
module "z" { source = "./c" }
