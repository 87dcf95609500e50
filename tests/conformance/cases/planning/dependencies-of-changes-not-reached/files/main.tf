
variable "s" { default = 1 }
variable "fail" { default = null }
resource "terraform_data" "x" { input = "x" }
resource "lab_thing" "up" {
  name = "up"
  size = var.s
  fail_on = var.fail
}
resource "lab_thing" "a" {
  name = "a"
  color = terraform_data.x.output
}
