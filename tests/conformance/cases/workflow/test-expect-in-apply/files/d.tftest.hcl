run "module_variable" {
  command = plan
  variables { n = 8 }
  expect_failures = [var.n]
}
