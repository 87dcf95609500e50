terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "f" { default=null }
module "m" {
 source="./m"
 f=var.f
}
resource "lab_thing" "s" {
 name="s"
 depends_on=[module.m.z]
}
resource "lab_thing" "u" {
 name="u"
 depends_on=[module.m.r]
}
resource "lab_thing" "w" {
 name="w"
 depends_on=[module.m]
}
