run "four" {
  command = plan
  variables { n = 4 }
  expect_failures = [ephemeral.lab_token.t]
}
