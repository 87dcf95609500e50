terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "wrong" {
  name = "t"[0]
  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [lab_thing.nope]
  }
}
resource "lab_thing" "missing" {
  lifecycle {
    ignore_changes = [nope]
  }
}
resource "lab_thing" "right" {
  name = "r"
  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [lab_thing.nope]
  }
}
