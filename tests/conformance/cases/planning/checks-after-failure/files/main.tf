terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "bad" {
  name    = "bad"
  fail_on = "create"

  lifecycle {
    precondition {
      condition     = length(terraform_data.fine.input) > 0
      error_message = "Empty."
    }
  }
}

resource "lab_thing" "worse" {
  name    = "worse"
  fail_on = "create"

  lifecycle {
    postcondition {
      condition     = self.name != ""
      error_message = "No name."
    }
  }
}

resource "terraform_data" "fine" {
  input = "x"

  lifecycle {
    precondition {
      condition     = length(path.module) > 0
      error_message = "No module."
    }
  }
}

resource "terraform_data" "after" {
  input = lab_thing.bad.name

  lifecycle {
    precondition {
      condition     = length(lab_thing.bad.name) > 0
      error_message = "No name."
    }
  }
}

check "of_bad" {
  assert {
    condition     = lab_thing.bad.name == "bad"
    error_message = "Other name."
  }
}

check "of_fine" {
  assert {
    condition     = terraform_data.fine.input == "x"
    error_message = "Other input."
  }
}

output "of_bad" {
  value = lab_thing.bad.id

  precondition {
    condition     = lab_thing.bad.name == "bad"
    error_message = "Other name."
  }
}

output "of_fine" {
  value = terraform_data.fine.input

  precondition {
    condition     = terraform_data.fine.input == "x"
    error_message = "Other input."
  }
}
