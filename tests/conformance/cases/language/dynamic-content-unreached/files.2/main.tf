terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "commands" {
  type    = list(string)
  default = []
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
    for_each = toset([terraform_data.b.id])
    content {
      port = length(module.nowhere.x) + lab_thing.nowhere.size
      cidr = lab_thing.a.nothing
    }
  }
}

resource "terraform_data" "b" {}
