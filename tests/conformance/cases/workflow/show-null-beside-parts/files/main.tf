output "d" {
  value = { s = null, l = null, o = { a = 1 }, j = jsonencode({ q = null }), k = null, t = null, u = "p\nq" }
}
resource "lab_thing" "t" {
  name   = "t"
  labels = { a = null, b = "x\ny", c = "{}", d = "plain" }
}
