resource "lab_thing" "a" { name = "a" }
