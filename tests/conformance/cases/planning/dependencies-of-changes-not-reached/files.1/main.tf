
variable "s" { default = 1 }
variable "fail" { default = null }
resource "lab_thing" "up" {
  name = "up"
  size = var.s
  fail_on = var.fail
}
resource "lab_thing" "a" {
  name = "a"
  size = lab_thing.up.revision
}
