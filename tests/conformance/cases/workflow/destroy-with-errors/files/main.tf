terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "fail" {
  default = "delete"
}
resource "lab_thing" "base" {
  name    = "base"
}
resource "lab_thing" "stuck" {
  name    = "stuck"
  notes   = [lab_thing.base.id]
  fail_on = var.fail == "null" ? null : var.fail
}
resource "lab_widget" "w" {
  title = lab_thing.stuck.id
}
resource "lab_widget" "free" {
  title = "free"
}
output "o" {
  value = lab_thing.stuck.name
}
output "p" {
  value = lab_widget.free.title
}
