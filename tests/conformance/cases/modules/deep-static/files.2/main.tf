module "mid" {
  source   = "./mid"
  for_each = toset(["one"])
  which    = each.key
}
