terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" { default = "a" }
resource "lab_thing" "a" { name = "a" }
check "found" {
  data "lab_thing" "d" {
    name = var.name
    depends_on = [lab_thing.a]
  }
  assert {
    condition     = data.lab_thing.d.name == "a"
    error_message = "Not a."
  }
}
module "m" {
  source = "./m"
  n      = length(var.name)
}
