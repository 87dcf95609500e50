
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "b" {
  count = 2
  name = "b${count.index}"
}
