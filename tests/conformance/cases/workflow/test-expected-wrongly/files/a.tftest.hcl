run "local" {
  command         = plan
  expect_failures = [local.l]
}
