terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

import {
  to       = module.m.lab_thing.t["one"]
  identity = { name = "one" }
}
import {
  to = module.m.lab_thing.t["two"]
  id = "lab-0000000000b2"
}
import {
  to = lab_widget.w
  id = "lab-0000000000b3"
}
module "m" {
  source = "./m"
}
resource "lab_widget" "w" {
  title = "changed ${module.m.sizes["one"]}"
}
