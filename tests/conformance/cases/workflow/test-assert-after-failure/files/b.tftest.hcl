run "itself" {
  command = plan
  variables { n = 7 }
  expect_failures = [terraform_data.a]
  assert {
    condition     = terraform_data.a.input == 7
    error_message = "a"
  }
}
