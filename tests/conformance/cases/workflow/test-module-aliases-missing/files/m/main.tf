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
