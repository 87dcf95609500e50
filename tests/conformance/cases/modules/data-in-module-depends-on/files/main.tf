terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" {
  default = 1
}
resource "lab_thing" "a" {
  name = "a"
  size = var.n
}
module "m" {
  source     = "./m"
  name       = "a"
  depends_on = [lab_thing.a]
}
output "size" {
  value = module.m.size
}
