terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "first" {
 name="first"
}
variable "wrong" {
 default="x"
}
module "m" {
 for_each=toset(["k","l"])
 source="./m"
 id=lab_thing.first.id
 wrong=var.wrong
}
