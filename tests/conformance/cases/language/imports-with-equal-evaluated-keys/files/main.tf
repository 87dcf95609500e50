variable "x" {
  default = "a"
}
resource "terraform_data" "z" {}
resource "terraform_data" "b" {
  for_each = toset(["a"])
}
import {
  to = terraform_data.b[var.x]
  id = "x"
}
import {
  to = terraform_data.b[var.x]
  id = "y"
}
