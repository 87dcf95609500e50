terraform {
  required_providers {
    lab = {
      source                = "weft.test/lab/lab"
      version               = "~> 1.0"
      configuration_aliases = [lab.other]
    }
  }
}
variable "name" {}
variable "extra" {
  type    = any
  default = {}
}
resource "lab_thing" "t" {
  count = 2
  name  = "${var.name}-${count.index}"
}
resource "lab_widget" "w" {
  provider = lab.other
  title    = try(var.extra.host, "none")
}
module "deep" {
  source = "./deep"
  label  = lab_thing.t[0].id
  providers = {
    lab = lab.other
  }
}
output "id" {
  value = lab_widget.w.id
}
output "things" {
  value = lab_thing.t
}
