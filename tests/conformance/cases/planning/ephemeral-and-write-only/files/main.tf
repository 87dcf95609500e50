terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "pw" {
  ephemeral = true
}
variable "ver" {
  default = 1
}
ephemeral "lab_token" "t" {
  name = "t"
}
locals {
  joined = "${var.pw}-${ephemeral.lab_token.t.token}"
}
resource "lab_thing" "a" {
  name              = "a"
  secret_wo         = local.joined
  secret_wo_version = var.ver
}
output "wo" {
  value = lab_thing.a.secret_wo
}
