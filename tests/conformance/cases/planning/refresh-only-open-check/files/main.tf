resource "terraform_data" "made" {
  input = 1
}

resource "terraform_data" "missing" {
  input = 1
}

check "made" {
  assert {
    condition     = terraform_data.made.output == 1
    error_message = "made is not 1"
  }
}

check "missing" {
  assert {
    condition     = terraform_data.missing.output == 1
    error_message = "missing is not 1"
  }
}
