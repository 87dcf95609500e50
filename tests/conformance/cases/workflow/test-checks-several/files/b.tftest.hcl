run "some" {
  variables { n = 12 }
  expect_failures = [check.d]
}
