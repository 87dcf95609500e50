terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name     = "a"
  labels   = { x = sensitive("one"), y = "two" }
  replicas = [{ zone = sensitive("one"), weight = 1 }, { zone = "two", weight = 1 }]

  dynamic "step" {
    for_each = sensitive(["one"])
    content {
      command = step.value
    }
  }
}
