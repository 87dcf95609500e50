module "z" {
  source = "./m"
  one    = 1
  nope   = 2
}

module "b" {
  source = "./n"
}

module "c" {
  source = "./m"
}
