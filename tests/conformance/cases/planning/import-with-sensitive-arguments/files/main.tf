terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "s" {
  sensitive = true
  default   = "s"
}
resource "lab_thing" "a" {
  name   = "a"
  labels = { p = var.s }
}
resource "lab_thing" "n" {
  name = "n"
  rule {
    port = 1
    cidr = var.s
  }
  replicas = [{ zone = var.s }]
}
resource "terraform_data" "m" {
  input = { p = var.s }
}
