terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

module "m" { source = "./m" }
import {
  to = module.m.lab_widget.w
  id = "lab-1"
}
