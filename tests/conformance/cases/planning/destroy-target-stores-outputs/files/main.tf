
resource "lab_thing" "root" { name = "root" }
resource "lab_thing" "t" {
  count  = 2
  name   = "t"
  labels = { r = lab_thing.root.id }
}
