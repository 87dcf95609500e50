run "expected" {
  variables { name = "zz" }
  expect_failures = [check.found]
}
