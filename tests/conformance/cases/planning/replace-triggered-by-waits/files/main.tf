terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

variable "f" { default = null }
variable "v" { default = 1 }
resource "lab_thing" "a" {
  name     = "a"
  size     = var.v
  fail_on  = var.f
  delay_ms = 300
}
resource "lab_widget" "c" {
  title = "c${var.v}"
  lifecycle { replace_triggered_by = [lab_thing.a] }
}
resource "lab_widget" "d" { title = lab_widget.c.title }
