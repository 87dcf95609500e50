terraform {
 required_providers {
 lab = { source = "weft.test/lab/lab" }
 }
}
resource "lab_thing" "a" {
 name="a"
}
resource "lab_thing" "z" {
 name="z"
}
data "lab_region" "r" {}
output "o" {
 value=lab_thing.a.id
}
output "c" {
 value="const"
}
output "r" {
 value=data.lab_region.r.name
}
