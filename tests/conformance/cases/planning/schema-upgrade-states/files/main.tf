resource "lab_thing" "one" {
  name = "one"
}
resource "oldlab_box" "two" {
  name = "two"
}
