terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "first" {
  name = "first"
}
module "inner" {
  source = "./inner"
  id     = lab_thing.first.id
}
