run "variable" {
  variables { n = 10 }
  expect_failures = [var.n]
}
