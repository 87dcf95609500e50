module "m" {
  source = "./m"
}

module "n" {
  source = "./n"
}
