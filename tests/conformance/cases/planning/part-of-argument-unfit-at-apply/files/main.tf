terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_any" "a" {
  value = { list = "notalist", s = "str", n = 5, f = 1.5, ls = ["x"], lo = [{ zone = 1 }], bad = [{ zonee = "x" }], m = { a = "x" }, b = "maybe", nul = null, obj = { cpu = "x" }, t = "7" }
}
resource "lab_thing" "t" {
  name = "t"
  tags = concat(["a"], [lab_any.a.echo.ls])
}
