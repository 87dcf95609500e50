run "in_module" {
  command = plan
  variables { name = "long" }
  expect_failures = [check.found]
}
