variable "s" { default = 1 }
variable "fail" {
  default = null
  type    = string
}
resource "lab_thing" "a" {
  name    = "a"
  size    = var.s
  fail_on = var.fail
}
resource "lab_thing" "c" {
  name = "c"
}
data "lab_thing" "look" {
  name = lab_thing.c.name
}
module "m" {
  source = "./m"
  size   = lab_thing.a.size
}
check "module" {
  assert {
    condition     = module.m.size < 5
    error_message = "module: ${module.m.size}"
  }
  assert {
    condition     = data.lab_thing.look.name == "zz"
    error_message = "look"
  }
}
check "own" {
  data "lab_thing" "x" { name = lab_thing.c.name }
  assert {
    condition     = data.lab_thing.x.size == var.s + 1
    error_message = "own"
  }
}
output "o" {
  value = lab_thing.a.size
}
