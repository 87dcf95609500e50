terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name = "a"
  size = 1
}
resource "lab_thing" "b" {
  name = "b"
}
output "s" {
  value = lab_thing.a.size
}
output "t" {
  value = lab_thing.b.id
}
output "st" {
  value = [lab_thing.a.size, lab_thing.b.size]
}
