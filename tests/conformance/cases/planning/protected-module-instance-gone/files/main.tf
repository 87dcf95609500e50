terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "r" {
 name="r"
}
module "m" {
 source="./m"
 count=2
}
