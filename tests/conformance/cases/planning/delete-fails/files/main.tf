terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "v" {
  default = 1
}
resource "lab_thing" "plain" {
  name    = "plain${var.v}"
  fail_on = var.v == 1 ? "delete" : null
}
resource "lab_thing" "first" {
  name    = "first${var.v}"
  fail_on = "delete"
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_thing" "up" {
  name    = "up"
  size    = var.v
  fail_on = var.v == 1 ? null : "update"
}
resource "lab_thing" "gone" {
  count   = var.v == 1 ? 1 : 0
  name    = "gone"
  fail_on = "delete"
}
resource "lab_thing" "spread" {
  name    = "spread${var.v}"
  fail_on = "delete"
}
resource "lab_widget" "w" {
  title = lab_thing.spread.name
  lifecycle {
    create_before_destroy = true
  }
}
