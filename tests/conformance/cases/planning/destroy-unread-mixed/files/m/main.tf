terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "id" {}
resource "lab_thing" "t" { name = "m" }
data "lab_region" "r" {}
output "name" { value = "${lab_thing.t.name}-${data.lab_region.r.name}" }
