terraform {
  backend "local" {
    bogus = 1
  }
}

module "m" {
  source = "./m"
}
