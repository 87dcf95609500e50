terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "top" { name = "top" }
module "a" {
  source = "./a"
}
