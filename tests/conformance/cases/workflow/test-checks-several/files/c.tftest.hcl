run "none" {
  variables { n = 6 }
  expect_failures = [check.d]
}
