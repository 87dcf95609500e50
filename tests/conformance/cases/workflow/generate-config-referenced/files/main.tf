terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

import {
  to = lab_widget.v
  id = "w1"
}
module "m" {
  source = "./m"
  v      = lab_widget.v.title
}
