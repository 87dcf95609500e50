terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

variable "p" { default = true }
resource "lab_thing" "b" { name = "a" }
resource "lab_widget" "w" {
  title = "w"
  lifecycle { prevent_destroy = local.p }
}
locals { p = lab_thing.b.name == "a" }
