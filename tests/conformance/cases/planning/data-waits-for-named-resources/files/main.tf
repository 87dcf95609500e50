terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" {
  count    = 2
  name     = "t${count.index}"
  delay_ms = 300
}
resource "lab_thing" "u" {
  for_each = toset(["x"])
  name     = each.key
  delay_ms = 300
}
data "lab_thing" "d" {
  count = length(lab_thing.t)
  name  = "t0"
}
