import {
  to = lab_thing.b[1]
  id = "lab-00000000000b"
}
resource "lab_thing" "a" {
  name = "a"
}
data "lab_thing" "none" {
  name = "none"
}
resource "lab_thing" "b" {
  count = 1
  name  = "a"
}
