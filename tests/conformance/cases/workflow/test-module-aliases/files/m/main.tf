terraform {
  required_providers {
    lab = {
      source                = "weft.test/lab/lab"
      configuration_aliases = [lab.extra]
    }
  }
}
resource "lab_thing" "m" {
  provider = lab.extra
  name     = "m"
}
resource "lab_thing" "n" { name = "n" }
output "regions" { value = [lab_thing.m.region, lab_thing.n.region] }
