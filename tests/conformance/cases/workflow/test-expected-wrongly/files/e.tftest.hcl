run "each" {
  command         = plan
  expect_failures = [each.key, path.module]
}
