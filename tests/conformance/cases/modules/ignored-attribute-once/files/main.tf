module "m" {
  source = "./m"
  obj    = { a = 1, extra = 2 }
}
