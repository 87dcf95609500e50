terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

removed {
  from = lab_thing.t
  lifecycle { destroy = false }
}
