locals {
  a {}
  b {}
  x = 1
}
terraform {
  required_providers {
    c {}
    d {}
    lab = { source = "weft.test/lab/lab" }
  }
  provider_meta "lab" {
    e {}
    f {}
  }
}
