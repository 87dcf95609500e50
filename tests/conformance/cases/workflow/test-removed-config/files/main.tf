terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "on" { default = true }
resource "lab_thing" "a" {
  count = var.on ? 1 : 0
  name  = "a"
}
resource "lab_widget" "w" {
  title = "w"
  size  = length(lab_thing.a)
}
output "first" { value = one(lab_thing.a[*].name) }
