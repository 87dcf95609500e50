variable "fail" {
  type    = map(string)
  default = {}
}
variable "keys" {
  type    = set(string)
  default = ["a", "b"]
}
module "m" {
  source   = "./m"
  for_each = var.keys
  name     = each.key
  fail     = lookup(var.fail, each.key, null)
}
output "names" {
  value = { for k, m in module.m : k => m.name }
}
output "const" {
  value = module.m["a"].const
}
