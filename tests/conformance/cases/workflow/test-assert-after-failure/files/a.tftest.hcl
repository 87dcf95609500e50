run "output" {
  command = plan
  variables { n = 3 }
  expect_failures = [output.n]
  assert {
    condition     = terraform_data.b.input == 6
    error_message = "b"
  }
}
run "other" {
  command = plan
  variables { n = 7 }
  expect_failures = [terraform_data.a]
  assert {
    condition     = terraform_data.b.input == 14
    error_message = "b"
  }
}
