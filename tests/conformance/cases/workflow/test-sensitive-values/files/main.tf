terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "secret" {
  sensitive = true
}
variable "passing" {
  ephemeral = true
  default   = "e"
}
resource "lab_thing" "a" {
  name      = "a"
  secret    = var.secret
  secret_wo = var.passing
}
output "masked" {
  value     = lab_thing.a.secret
  sensitive = true
}
