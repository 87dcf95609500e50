module "m" {
  for_each = {}
}
