terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "c" {
  count = 2
  name  = "c${count.index}"
}
resource "lab_thing" "e" {
  for_each = { a = 1, b = 2 }
  name     = each.key
  size     = each.value
}
resource "lab_link" "l" {
  from = lab_thing.c[0].id
  to   = lab_thing.e["b"].id
}
