terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

variable "f" { default = null }
resource "lab_thing" "a" {
  name    = "a"
  fail_on = var.f
}
resource "lab_thing" "b" {
  name    = "b"
  fail_on = var.f
  lifecycle { create_before_destroy = true }
}
resource "lab_widget" "w" {
  title = "w"
  provisioner "local-exec" { command = "exit ${var.f == null ? 0 : 1}" }
}
resource "lab_widget" "x" { title = lab_widget.w.id }
output "a" { value = lab_thing.a.name }
