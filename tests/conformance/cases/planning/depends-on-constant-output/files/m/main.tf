terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "r" {
 name="r"
 fail_on=var.f
}
variable "f" { default=null }
output "z" {
 value=1
}
output "r" {
 value=lab_thing.r.id
}
