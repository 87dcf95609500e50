terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "ports" { default = [80, 443] }
variable "on" { default = true }
resource "lab_thing" "a" {
  name = "a"
  dynamic "rule" {
    for_each = var.ports
    content {
      port = rule.value
      cidr = lab_widget.w.id
    }
  }
}
resource "lab_widget" "w" { title = "w" }
resource "lab_thing" "each" {
  for_each = toset([lab_widget.w.id])
  name     = each.key
}
resource "lab_thing" "opt" {
  name = "opt"
  lifecycle {
    enabled = var.on
  }
}
