run "the_output" {
  command = plan
  variables { n = 3 }
  expect_failures = [output.n]
  assert {
    condition     = output.n == 3
    error_message = "n"
  }
}
