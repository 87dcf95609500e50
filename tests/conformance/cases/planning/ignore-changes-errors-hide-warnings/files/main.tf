terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" {
  name = "t"
  lifecycle { ignore_changes = [nope, revision, limits.nope, "color", replicas[0]] }
}
resource "lab_thing" "u" {
  name = "t"
  lifecycle { ignore_changes = [all] }
}
