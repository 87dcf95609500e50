terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
variable "wrong" {
  default = "x"
}
resource "lab_thing" "first" {
  name = var.wrong == "x" ? "first" : "second"
}
resource "lab_thing" "refused" {
  count = 2
  name  = "refused-${count.index}"
  lifecycle {
    precondition {
      condition     = lab_thing.first.id == "x" || var.wrong != "x"
      error_message = "Not this one."
    }
  }
}
resource "lab_thing" "failed" {
  name    = "failed"
  fail_on = var.wrong == "x" ? "create" : null
}
resource "lab_thing" "unread" {
  count = 0
  name  = "none"
}
data "lab_thing" "missing" {
  name = var.wrong == "x" ? lab_thing.first.id : "${lab_thing.first.name}${substr(lab_thing.first.id, 0, 0)}"
}
resource "lab_thing" "after" {
  name = data.lab_thing.missing.region
}
module "inner" {
  source = "./inner"
  id     = lab_thing.first.id
  wrong  = var.wrong
}
