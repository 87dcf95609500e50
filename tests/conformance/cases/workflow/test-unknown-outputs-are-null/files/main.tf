module "m" {
  source = "./m"
  v = "x"
}
output "id" {
  value = module.m.id
}
output "obj" {
  value = { id = module.m.id, v = module.m.v }
}
output "list" {
  value = [module.m.id]
}
