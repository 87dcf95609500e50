module "m" {
  source = "./m"
  gone   = 1
}
