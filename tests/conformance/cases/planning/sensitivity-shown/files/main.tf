terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "mode" { default = "plain" }
variable "v" { default = 1 }
locals {
  i = var.mode == "secret" ? 1 : 0
  s = ["v${var.v}", sensitive("v${var.v}")][local.i]
}
resource "lab_thing" "t" {
  name = "t"
  color = local.s
  size = 2
  notes = [local.s, "x"]
  labels = { a = local.s }
  replicas = [{ zone = local.s }]
  limits = { cpu = [var.v, sensitive(var.v)][local.i] }
  dynamic "rule" {
    for_each = var.mode == "none" ? [] : [1]
    content {
      port = 1
      cidr = local.s
    }
  }
  dynamic "step" {
    for_each = [["a", "b${var.v}"], sensitive(["a", "b${var.v}"])][local.i]
    content { command = step.value }
  }
}
resource "lab_any" "a" { value = { s = local.s, t = ["p"] } }
output "o" {
  value = local.s
  sensitive = true
}
