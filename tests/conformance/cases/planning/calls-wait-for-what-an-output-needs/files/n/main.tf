terraform {
 required_providers {
 lab = { source = "weft.test/lab/lab" }
 }
}
data "lab_region" "d" {}
output "v" {
 value=data.lab_region.d.name
}
