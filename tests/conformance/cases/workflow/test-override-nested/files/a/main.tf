terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "name" {}
resource "lab_thing" "t" {
  count = 2
  name  = "${var.name}-${count.index}"
}
module "b" {
  source = "../b"
  name   = var.name
}
output "id" { value = lab_thing.t[1].id }
output "deep" { value = module.b.name }
