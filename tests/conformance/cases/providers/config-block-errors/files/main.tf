terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  region = ["x"]
  nope = 1
  settings {
    retries = "many"
  }
  settings {}
}
