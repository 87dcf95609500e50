terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "in" { name = "in" }
resource "lab_thing" "was_top" { name = "top" }
module "c" { source = "./b" }
moved {
  from = module.b
  to = module.c
}
