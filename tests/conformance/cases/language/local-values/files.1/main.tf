locals {
  a = 1
  a = 2
}
locals {
  b = local.nothing
  c = [1, 2][5]
  d = { x = 1 }.y
  e = "a" + 1
}
locals "label" {
}
local {
}
