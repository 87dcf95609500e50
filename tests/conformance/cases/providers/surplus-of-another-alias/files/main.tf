terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

provider "lab" {
  alias  = "one"
  region = "one"
}

resource "lab_thing" "r" {
  count    = 2
  provider = lab.one
  name     = "r${count.index}"
}
