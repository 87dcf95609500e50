
resource "lab_thing" "a" {
  for_each = toset(["x"])
  name = "a"
}
moved {
  from = lab_thing.a
  to = lab_thing.a["x"]
}
resource "lab_thing" "c" {
  name = "b0"
}
moved {
  from = lab_thing.b[0]
  to = lab_thing.c
}
