terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias  = "two"
  region = "two"
}

resource "lab_thing" "r" {
  count    = 1
  provider = lab.two
  name     = "r${count.index}"
}
