
variable "s" { default = 1 }
variable "t" { default = 1 }
variable "fail" {
  type    = string
  default = null
}
resource "lab_thing" "a" {
  name = "a"
  size = var.s
}
resource "lab_thing" "b" {
  name    = "x"
  size    = var.t
  fail_on = var.fail
}
check "all" {
  assert {
    condition     = lab_thing.b.size < 5
    error_message = "b too large"
  }
  assert {
    condition     = lab_thing.a.size < 5
    error_message = "a too large"
  }
}
