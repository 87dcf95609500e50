resource "terraform_data" "z" {}
resource "terraform_data" "b" {
  for_each = toset(["a"])
}
locals {
  none = null
  list = ["a"]
}
import {
  to = terraform_data.b[sensitive("a")]
  id = "x"
}
import {
  to = terraform_data.b[terraform_data.z.id]
  id = "x"
}
import {
  to = terraform_data.b[local.none]
  id = "x"
}
import {
  to = terraform_data.b[local.list]
  id = "x"
}
