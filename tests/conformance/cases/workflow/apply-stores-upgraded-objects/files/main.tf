terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "lab_thing" "t" {
  name = "t"
  size = 3
}
resource "oldlab_box" "b" {
  name = "b"
  size = 2
}
