module "text" {
  version = "x"
}
module "fine" {
  version = "1.0"
}
module "undeclared" {
  version = var.none
}
