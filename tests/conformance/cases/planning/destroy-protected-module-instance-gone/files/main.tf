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
 for_each=toset(["a","b"])
}
output "o" {
 value=[for m in module.m: m.v]
}
