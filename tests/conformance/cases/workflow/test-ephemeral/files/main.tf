terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "pass" {
  ephemeral = true
  default   = "p"
}
ephemeral "lab_token" "t" {
  name = "t"
}
resource "lab_thing" "a" {
  name              = "a"
  secret_wo         = "${ephemeral.lab_token.t.token}${var.pass}"
  secret_wo_version = 1
}
