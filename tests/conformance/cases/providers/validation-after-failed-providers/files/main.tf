provider "lab" {
  nope = 1
}

resource "lab_thing" "trigger" {
  count = null
  name  = "t"
  lifecycle {
    replace_triggered_by = [lab_thing.own]
  }
}

resource "lab_thing" "provisioner" {
  name  = "p"
  color = length(5)
  provisioner "local-exec" {
    command = lab_thing.trigger.id
  }
}

resource "lab_thing" "connection" {
  for_each = ["x"]
  name     = "c"
  connection {
    host = lab_thing.trigger.id
  }
}

resource "lab_thing" "condition" {
  count = -1
  name  = "q"
  lifecycle {
    postcondition {
      condition     = self.id != lab_thing.trigger.id
      error_message = "The same id."
    }
  }
}

resource "lab_thing" "unread" {
  name    = "u"
  color   = length(6)
  another = lab_thing.trigger.id
}

resource "lab_thing" "own" {
  count      = null
  name       = "o"
}

output "o" {
  value = length(7)
}
