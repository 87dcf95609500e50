variable "s" {
  default = ""
  sensitive = true
}
import {
  for_each = var.s == "a" ? toset(["a"]) : toset([])
  to = terraform_data.x[each.key]
  id = "i"
}
resource "terraform_data" "x" {
  for_each = toset(["a"])
}
