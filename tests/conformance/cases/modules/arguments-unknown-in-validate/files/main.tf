module "m" {
  source = "./mod"
}

module "named" {
  source = "./mod"
  name   = null
  sizes  = []
  mode   = "quiet"
}
