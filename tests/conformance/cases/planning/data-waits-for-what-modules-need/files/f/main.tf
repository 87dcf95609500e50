terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

variable "n" {}
output "o" { value = var.n }
output "p" { value = 1 }
