terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "id" {}
variable "wrong" {}
resource "lab_thing" "r" {
 for_each=toset(["a"])
 name="r"
 lifecycle {
 precondition {
 condition=var.id=="x"||var.wrong!="x"
 error_message="no"
 }
 }
}
module "deep" {
 source="./d"
 id=var.id
 wrong=var.wrong
}
