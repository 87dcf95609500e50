terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "names" { default = ["a", "b"] }
resource "lab_thing" "k" {
  for_each = toset(var.names)
  name     = each.key
}
resource "terraform_data" "c" {
  count = length(var.names)
  input = var.names[count.index]
}
module "m" {
  count  = 2
  source = "./m"
  n      = count.index
}
