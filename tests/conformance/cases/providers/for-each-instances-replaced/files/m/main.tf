variable "n" {}
resource "lab_thing" "x" {
  name = "m-${var.n}"
}
output "region" {
  value = lab_thing.x.region
}
