terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
