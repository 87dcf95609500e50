terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "keep" {}
variable "name" {}
locals {
  protect = var.keep && var.name != ""
}
resource "lab_thing" "t" {
  name = var.name
  lifecycle {
    prevent_destroy = local.protect
  }
}
