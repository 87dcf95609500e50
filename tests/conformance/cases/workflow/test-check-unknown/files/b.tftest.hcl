run "apply" {
  expect_failures = [check.d]
}
