terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

check "here" {
  data "lab_things" "found" {
  }
  assert {
    condition     = length(data.lab_things.found.names) < 3
    error_message = "too many"
  }
}
