locals {
  c = local.b
  b = "${local.a}!"
  a = upper("x")
  unused = [for i in range(3) : i * 2]
  obj = {
    nested = { deep = local.c }
    list   = [local.a, local.b]
  }
}
locals {}
locals {
  d = local.obj.nested["deep"]
}
output "o" {
  value = [local.d, local.obj, local.unused[1]]
}
