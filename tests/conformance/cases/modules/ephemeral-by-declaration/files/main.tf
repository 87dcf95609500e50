terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "v" {
  default = 1
}
resource "terraform_data" "stored" {
  input = "kept"
}
module "m" {
  source = "./m"
  plain  = "p"
  object = { a = "x", list = ["y", terraform_data.stored.id] }
}
resource "lab_thing" "t" {
  name              = "t"
  secret_wo         = "${module.m.constant} ${module.m.part}"
  secret_wo_version = var.v
}
