terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "t" {
  for_each = toset(["one", "two"])
  name     = each.key
  size     = 3
}
output "sizes" {
  value = { for k, t in lab_thing.t : k => t.size }
}
