terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "kept" {
 name = "kept"
}
resource "lab_thing" "none" {
 count = 0
 name = "none"
}
output "o" { value = lab_thing.none[*].id }
output "p" { value = lab_thing.none }
output "q" { value = length(lab_thing.none) }
locals {
 l = lab_thing.none[*].id
}
output "r" { value = local.l }
output "s" { value = lab_thing.kept.size }
output "t" { value = 3 }
