terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  alias = "x-${1}"
}
provider "lab" {
  alias = "y"
}
provider "lab" {
  alias = "y"
}
provider "lab" {
  version = "1.0.0"
}
provider "lab" {}
