terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "v" { default = "x" }
output "v" { value = provider::lab::upper(var.v) }
