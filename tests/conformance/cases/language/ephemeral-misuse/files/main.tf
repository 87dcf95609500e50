terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "e" {
  ephemeral = true
  default = "x"
}
ephemeral "lab_token" "t" { name = "n" }
resource "lab_thing" "a" {
  name = var.e
  labels = { x = ephemeral.lab_token.t.token }
}
output "o" { value = var.e }
output "p" {
  value = var.e
  ephemeral = true
}
locals { l = ephemeral.lab_token.t.token }
resource "lab_thing" "b" {
  count = length(local.l)
  name = "b"
}
data "lab_echo" "d" { value = local.l }
