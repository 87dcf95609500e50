terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "terraform_data" "r" {
  input = "reg"
}

provider "lab" {
  region = terraform_data.r.output
}

resource "lab_thing" "a" {
  name = "a"
}
