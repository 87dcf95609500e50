terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "k" { default = 1 }
locals {
  o = {
    "1" = [{ n = "a", v = 1 }, { n = "b", v = 2 }, { n = "c", v = 3 }]
    "2" = [{ n = "z", v = 0 }, { n = "a", v = 1 }, { n = "b", v = 2 }, { n = "c", v = 3 }]
    "3" = [{ n = "a", v = 1 }, { n = "c", v = 3 }]
    "4" = [{ n = "c", v = 3 }, { n = "a", v = 2 }]
    "5" = []
  }
}
resource "lab_any" "a" { value = local.o[var.k] }
resource "lab_any" "s" { value = toset(local.o[var.k]) }
resource "lab_any" "l" { value = tolist(local.o[var.k]) }
resource "lab_any" "m" { value = { for x in local.o[var.k] : x.n => x } }
resource "lab_any" "n" { value = [for x in local.o[var.k] : [x.n, x.v]] }
output "o" { value = local.o[var.k] }
output "j" { value = jsonencode(local.o[var.k]) }
output "t" { value = [for x in local.o[var.k] : x.n] }
