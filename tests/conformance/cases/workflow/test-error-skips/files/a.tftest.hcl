run "fails" {
  assert {
    condition     = terraform_data.a.input == 2
    error_message = "first"
  }
  assert {
    condition     = terraform_data.a.input == 3
    error_message = "second"
  }
}
run "passes" {}
run "errors" {
  variables { n = 9 }
}
run "skipped" {}
run "skipped_too" {}
