variable "s" {
  default = {}
}
import {
  for_each = sensitive(var.s)
  to = terraform_data.x[each.key]
  id = "i"
}
resource "terraform_data" "x" {
  for_each = toset(["a"])
}
