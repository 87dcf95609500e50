terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name   = "a"
  labels = { k = "v" }
  notes  = ["n"]
  rule {
    port = 1
  }
}
output "labels" {
  value = lab_thing.a.labels
}
output "notes" {
  value = lab_thing.a.notes
}
