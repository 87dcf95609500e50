variable "e" {
  default   = "x"
  ephemeral = true
}
locals {
  l = { x = var.e, y = 1 }
}
resource "terraform_data" "a" {
  triggers_replace = local.l.y
  input            = local.l
}
resource "lab_thing" "t" {
  name = "t"
  labels = {
    a = 1
    b = var.e
  }
  notes = ["a",
  var.e]
  rule {
    port = 1
    cidr = var.e
  }
  step {
    command = "x"
    on      = var.e
  }
  replicas = [{ zone = var.e }]
  limits   = { cpu = length(var.e) }
}
resource "lab_any" "x" {
  value = [1, { k = var.e }]
}
data "lab_echo" "d" {
  value = {
    k = [var.e]
  }
}
