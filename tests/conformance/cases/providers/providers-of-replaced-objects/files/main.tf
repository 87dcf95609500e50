terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}

variable "env" {
  type    = string
  default = "dev"
}
resource "lab_thing" "net" { name = var.env }
resource "lab_link" "l" {
  from = lab_thing.net.id
  to   = var.env
}
provider "oldlab" { region = lab_thing.net.id }
resource "oldlab_box" "b" {
  name   = "box-${var.env}"
  labels = { x = lab_thing.net.id }
}
resource "lab_singleton" "after" {
  name  = "x"
  value = oldlab_box.b.id
}
