resource "terraform_data" "a" {
  count = 3
}
resource "terraform_data" "b" {
}
variable "list" {
  default = [1, 0]
}
import {
  for_each = sensitive(["0"])
  to       = terraform_data.a[each.key]
  id       = "x"
}
