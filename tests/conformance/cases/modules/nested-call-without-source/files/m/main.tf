module "b" { version = "x" }
module "c" {}
