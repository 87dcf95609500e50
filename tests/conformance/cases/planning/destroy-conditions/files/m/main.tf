terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "a" {
  name = "a"
}

resource "lab_thing" "b" {
  name    = lab_thing.a.id
  fail_on = "create"
}

output "text" {
  value = "id: ${lab_thing.b.id}"
}
