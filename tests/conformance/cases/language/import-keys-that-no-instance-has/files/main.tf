resource "terraform_data" "z" {}
resource "terraform_data" "b" {
  for_each = toset(["a"])
}
import {
  to = terraform_data.b[null]
  id = "x"
}
import {
  to = terraform_data.b[true]
  id = "x"
}
import {
  to = terraform_data.b[1.5]
  id = "x"
}
