terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "a" {
  type = string
}
resource "lab_thing" "a" {
  name = var.a
}
