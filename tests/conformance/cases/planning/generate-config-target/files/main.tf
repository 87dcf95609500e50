terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

import {
  to = lab_thing.x
  id = "lab-00000000000a"
}

resource "terraform_data" "other" {
  input = 1
}
