terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "want" { default = "zone-a" }
resource "lab_thing" "a" {
  name = "a"
}
module "m" {
  source = "./m"
  zone   = lab_thing.a.zone
  count  = 2
}
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = lab_thing.a.zone == var.want
      error_message = "zone ${lab_thing.a.zone}"
    }
    postcondition {
      condition     = self.zone == lab_thing.a.zone
      error_message = "zones"
    }
  }
}
check "c" {
  data "lab_thing" "d" {
    name = lab_thing.b.name
  }
  assert {
    condition     = data.lab_thing.d.region == lab_thing.a.region
    error_message = "region ${data.lab_thing.d.region}"
  }
  assert {
    condition     = lab_thing.a.endpoint.port == 1
    error_message = "port ${lab_thing.a.endpoint.port}"
  }
}
output "z" {
  value = module.m[0].zone
  precondition {
    condition     = module.m[1].zone != ""
    error_message = "no"
  }
}
