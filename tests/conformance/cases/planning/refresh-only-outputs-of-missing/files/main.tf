terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "gone" {
  name = "gone"
}

resource "lab_thing" "many" {
  count = 3
  name  = "many-${count.index}"
}

resource "lab_thing" "each" {
  for_each = toset(["a", "b"])
  name     = "each-${each.key}"
}

output "attribute" {
  value = lab_thing.gone.endpoint.host
}

output "text" {
  value = "to ${lab_thing.gone.id}"
}

output "nested" {
  value = { a = lab_thing.gone.id, b = 1 }
}

output "ids" {
  value = lab_thing.many[*].id
}

output "keys" {
  value = { for k, v in lab_thing.each : k => v.id }
}

output "fixed" {
  value = "fixed"
}
