module "m" {
  source = "./m"
}
output "a" {
  value = try(module.m.none, "fallback")
}
output "b" {
  value = can(module.m.none)
}
