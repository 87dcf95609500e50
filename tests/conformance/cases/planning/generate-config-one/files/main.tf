terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  alias = "w"
  region = "west"
}
import {
  to       = lab_thing.x
  id       = "lab-00000000000a"
  provider = lab.w
}
