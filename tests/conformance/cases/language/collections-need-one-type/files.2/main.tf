module "m" {
  source = "./m"
  s      = [{ e = 1 }, {}]
}
