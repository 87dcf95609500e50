terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "fail" { default = null }
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "b" {
  name    = "b-${lab_thing.a.id == "" ? "" : "x"}"
  fail_on = var.fail
}
output "o" { value = lab_thing.b.name }
