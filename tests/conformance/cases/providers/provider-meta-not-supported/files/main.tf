terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
module "m" {
  source = "./m"
}
module "n" {
  source = "./m"
  count = 0
}
resource "lab_thing" "r" {
  name = "x"
}
