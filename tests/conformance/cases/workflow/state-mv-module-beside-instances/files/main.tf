module "m" {
  for_each = toset(["one", "two"])
  source   = "./m"
}
module "s" {
  source = "./m"
}
