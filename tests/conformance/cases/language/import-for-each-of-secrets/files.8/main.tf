variable "s" {
  type = map(string)
  default = {}
  sensitive = true
}
import {
  for_each = var.s
  to = terraform_data.x[each.key]
  id = "i"
}
resource "terraform_data" "x" {
  for_each = toset(["a"])
}
