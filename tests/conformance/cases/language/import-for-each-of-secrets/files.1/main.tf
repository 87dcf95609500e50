variable "s" {
  default = ["a"]
  sensitive = true
}
import {
  for_each = [var.s]
  to = terraform_data.x[each.key]
  id = "i"
}
resource "terraform_data" "x" {
  for_each = toset(["a"])
}
resource "terraform_data" "other" {
}
