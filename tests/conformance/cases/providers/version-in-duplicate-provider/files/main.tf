terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  region = "b"
}
provider "lab" {
  version = "~> 1.0"
}
