run "precondition" {
  variables { n = 5 }
  expect_failures = [terraform_data.a]
}
