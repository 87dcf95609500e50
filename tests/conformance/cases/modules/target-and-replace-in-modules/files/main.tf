module "a" {
  source   = "./a"
  for_each = toset(["x", "y"])
  k        = each.key
}
output "tops" {
  value = [for m in module.a : m.top]
}
