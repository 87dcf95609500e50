terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "seed" { default = "s" }
resource "lab_thing" "t" {
  name = "setup-${var.seed}"
}
module "inner" {
  source = "./inner"
  name   = lab_thing.t.name
}
output "name" { value = module.inner.name }
