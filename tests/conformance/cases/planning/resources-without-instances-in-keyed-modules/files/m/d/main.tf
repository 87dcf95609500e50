terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "id" {}
variable "wrong" {}
resource "terraform_data" "r" {
 lifecycle {
 precondition {
 condition=var.id=="x"||var.wrong!="x"
 error_message="no"
 }
 }
}
