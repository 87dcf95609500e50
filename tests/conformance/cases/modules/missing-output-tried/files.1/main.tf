module "m" {
  source = "./m"
}
module "k" {
  source   = "./m"
  for_each = toset(["x"])
}
output "a" {
  value = try(module.m.v.none, "fallback")
}
output "b" {
  value = [can(module.k["y"].v), try(module.k["y"], "no y"), can(module.k["x"].v.a), try(module.k.x.v.b, module.k.x.v.a)]
}
