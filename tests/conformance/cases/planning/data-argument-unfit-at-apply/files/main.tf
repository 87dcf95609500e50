terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_any" "a" {
  value = { list = "notalist", s = "str", num = "12", n = 5, neg = -1, ls = ["x"], lo = [{ zone = 1 }], bad = [{ zonee = "x" }], m = { a = "x" }, mm = { a = ["x"] }, b = "maybe", nul = null, lz = [{ zone = ["x"] }], obj = { cpu = "x" }, obj2 = { cpu = 1, junk = 2 } }
}
data "lab_thing" "d" {
  name = lab_any.a.echo.ls
}
data "lab_things" "e" {
  color = lab_any.a.echo.m
}
