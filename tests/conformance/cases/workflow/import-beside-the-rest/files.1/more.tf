resource "lab_thing" "found" {
  name = "found"
  size = "not a ${1 + lab_thing.here.name}"
}

resource "lab_thing" "later" {
  name = "later"
}

resource "lab_thing" "here_too" {
  name   = 1 + "x"
}

output "later" {
  value = { id = lab_thing.later.id, size = 1 }
}

output "found" {
  value = lab_thing.found.name
}
