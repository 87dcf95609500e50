module "z" {
  source = "./m"
  one    = 1
  nope   = 2
}

module "c" {
  source = "./m"
  other  = 1
}
