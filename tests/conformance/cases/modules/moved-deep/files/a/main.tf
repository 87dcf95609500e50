terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "in" { name = "in" }
module "b" { source = "./b" }
