terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "n" { default = "one" }
variable "f" { default = null }
resource "lab_thing" "a" {
  name    = var.n
  fail_on = var.f
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_widget" "w" { title = lab_thing.a.id }
module "m" {
  source = "./m"
  n      = lab_thing.a.name
}
