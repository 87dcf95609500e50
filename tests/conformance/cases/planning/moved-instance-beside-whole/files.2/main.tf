
resource "lab_thing" "d" { name = "a2" }
moved {
  from = lab_thing.a["x"]
  to = lab_thing.d
}
moved {
  from = lab_thing.c
  to = lab_thing.d
}
