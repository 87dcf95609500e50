module "m" {
  source = "./mod"
  name   = "n"
}

module "n" {
  source = "./mod"
  sizes  = [1, 2]
}
