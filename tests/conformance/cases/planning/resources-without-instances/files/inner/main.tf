terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
variable "id" {}
variable "wrong" {}
resource "lab_thing" "uneven" {
  name = "uneven"
  size = var.wrong == "x" ? tonumber(var.id) : 3
}
