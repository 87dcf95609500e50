terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" { default = 1 }
resource "lab_thing" "a" {
  name = "a"
  size = var.n
}
resource "lab_any" "v" {
  value = { n = var.n, list = [1, "x"] }
}
output "any" { value = lab_any.v.echo }
