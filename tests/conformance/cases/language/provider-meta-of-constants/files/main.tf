terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

terraform {
  provider_meta "lab" {
    hello = var.name
    other = upper("x")
  }
  provider_meta "other_name" {
    hello = "world"
  }
}
variable "name" {
  type    = string
  default = "x"
}
