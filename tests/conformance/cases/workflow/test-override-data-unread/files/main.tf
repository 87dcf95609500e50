terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
data "lab_thing" "missing" {
  name = "missing"
}
data "lab_thing" "late" {
  name       = "late-${lab_thing.a.id}"
}
resource "lab_thing" "a" {
  name  = "a"
  color = data.lab_thing.missing.color
  size  = var.n
}
check "c" {
  data "lab_thing" "scoped" {
    name = "scoped"
  }
  assert {
    condition     = data.lab_thing.scoped.size == 4
    error_message = "scoped"
  }
}
output "late" { value = data.lab_thing.late.size }
