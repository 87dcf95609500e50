output "d" {
  value = { s = "x", l = [1], o = null, j = jsonencode({ q = [1] }), k = jsonencode([]), t = "l1\nl2\n", u = jsonencode({ z = 1 }) }
}
resource "lab_thing" "t" {
  name   = "t"
  labels = { a = "r\ns", b = null, c = "plain", d = null }
}
