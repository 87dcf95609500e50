locals {
  c = [1, 2][5]
  d = { x = 1 }.y
  e = "a" + 1
  f = null.x
  g = "s".x
  h = "s"[0]
  i = tolist([])[0]
  j = tomap({})["k"]
  k = [1]["a"]
}
