terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "plain" {
  type      = string
  ephemeral = true
}
variable "usual" {
  default   = "usual"
  ephemeral = true
}
variable "object" {
  type      = object({ a = string, list = list(string) })
  ephemeral = true
}
resource "lab_thing" "t" {
  name              = "inner"
  secret_wo         = "${var.plain} ${var.usual} ${var.object.a} ${join(",", var.object.list)}"
  secret_wo_version = 1
}
output "constant" {
  value     = "constant"
  ephemeral = true
}
output "part" {
  value     = var.object.a
  ephemeral = true
}
