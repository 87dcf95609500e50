terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "c" {
  count = 2
  name  = "a"
}
resource "lab_thing" "f" {
  for_each = toset(["a"])
  name     = "a"
}
data "lab_region" "d" { count = 1 }
output "a" { value = lab_thing.a["name"] }
output "b" { value = lab_thing.c[0]["name"] }
output "c" { value = lab_thing.f["a"]["name"] }
output "d" { value = lab_thing.f["a"][0] }
output "e" { value = lab_thing.f["a"]["not a name"] }
output "f" { value = data.lab_region.d[0]["name"] }
output "g" { value = try(lab_thing.c[0]["name"], 1) }
output "h" { value = lab_thing.c[0].endpoint["host"] }
output "i" { value = lab_thing.c[0].labels["host"] }
output "j" { value = lab_thing.c[0].name["host"] }
output "k" { value = lab_thing.c[0][local.x] }
output "l" { value = lab_thing.c["x"]["name"] }
output "m" { value = lab_thing.c[*]["name"] }
output "n" { value = lab_thing.c["name"] }
locals { x = "name" }
