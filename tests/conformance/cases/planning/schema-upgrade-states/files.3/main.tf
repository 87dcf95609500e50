resource "lab_thing" "other" {
  name = "other"
}
