resource "lab_thing" "uno" {
  name = "one"
  size = 4
}
moved {
  from = lab_thing.one
  to   = lab_thing.uno
}
removed {
  from = oldlab_box.two
  lifecycle {
    destroy = false
  }
}
