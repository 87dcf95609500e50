locals {
  map = {
    key1 = null
  }
  ids = [1]
}
resource "terraform_data" "a" {
  for_each = local.map
}
resource "terraform_data" "b" {}
import {
  for_each = local.map
  to       = terraform_data.a[each.key]
  id       = each.value
}
import {
  to = terraform_data.b
  id = local.ids
}
