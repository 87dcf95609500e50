module "a" {
  source     = "./a"
  x          = terraform_data.r.id
  depends_on = [terraform_data.r, terraform_data.waits]
}

module "many" {
  source   = "./a"
  for_each = { k = terraform_data.r }
  x        = each.key
}

resource "terraform_data" "r" {
  input = [try(module.a.none, 1), can(module.many["k"].none)]
}

resource "terraform_data" "waits" {
  depends_on = [module.a.none]
}
