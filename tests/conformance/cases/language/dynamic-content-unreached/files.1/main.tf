terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "commands" {
  type    = list(string)
  default = ["x"]
}

resource "lab_thing" "a" {
  name = "a"

  dynamic "step" {
    for_each = var.commands
    content {
      command = steps.value
    }
  }

  dynamic "rule" {
    for_each = []
    content {
      port = length(module.nowhere.x) + lab_thing.nowhere.size
      cidr = lab_thing.a.nothing
    }
  }
}
