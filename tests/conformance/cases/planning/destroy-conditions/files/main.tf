terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" {
  name = "t"
  lifecycle {
    postcondition {
      condition     = self.zone == "zone-b"
      error_message = "Landed in ${self.zone}."
    }
  }
}

module "m" {
  source = "./m"
}

output "text" {
  value = module.m.text
}
