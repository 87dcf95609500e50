variable "name" {}
variable "fail" {}
resource "lab_thing" "t" {
  name    = var.name
  fail_on = var.fail
}
output "name" {
  value = lab_thing.t.name
}
output "const" {
  value = "const"
}
