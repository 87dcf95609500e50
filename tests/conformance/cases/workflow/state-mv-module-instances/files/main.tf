module "m" {
  source   = "./m"
  for_each = toset(["x"])
}
module "n" {
  source = "./m"
}
