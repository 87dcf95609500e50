terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

module "a" {
  source   = "./a"
  for_each = toset(["x", "y"])
  name     = each.key
}
output "ids" { value = { for k, m in module.a : k => m.id } }
output "deep" { value = { for k, m in module.a : k => m.deep } }
