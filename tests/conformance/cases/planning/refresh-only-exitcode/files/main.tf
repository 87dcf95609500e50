terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "t" {
  count = 1
  name  = "t"
}

resource "terraform_data" "p" {
  input = length(lab_thing.t)
  lifecycle {
    precondition {
      condition     = length(lab_thing.t) == 1
      error_message = "There must be one."
    }
  }
}
