module "many" {
  source   = "./p"
  for_each = toset(["a", "b"])
}

output "each" {
  value = [for m in module.many : m.gone]
}

output "one" {
  value = module.many["a"].gone
}
