resource "terraform_data" "a" {
  count = 3
  input = { i = count.index, tags = ["t${count.index}"] }
}
locals {
  maps = [{ k = "a", v = 1 }, { k = "b", v = 2 }, { k = "a", v = 3 }]
  nul  = null
}
output "o" {
  value = {
    ids     = length(terraform_data.a[*].id)
    inputs  = terraform_data.a[*].input.i
    tags    = terraform_data.a.*.input.tags
    group   = { for m in local.maps : m.k => m.v... }
    filter  = [for i, m in local.maps : "${i}${m.k}" if m.v > 1]
    setfor  = [for s in toset(["b", "a"]) : s]
    mapfor  = [for k, v in { z = 1, y = 2 } : "${k}${v}"]
    nulls   = local.nul[*]
    single  = "x"[*]
    strkey  = { for s in ["x", "y"] : upper(s) => s }
    nested  = [for a in [[1, 2], [3]] : [for b in a : b * 10]]
    objfor  = { for k, v in { a = 1, b = 2 } : v => k if v != 1 }
  }
}
