terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "names" { type = list(string) }
module "inner" {
  for_each = toset(var.names)
  source   = "./inner"
  name     = each.key
}
