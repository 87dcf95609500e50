run "holds" {
  variables {
    size = 6
  }
  expect_failures = [check.health]
}
run "fails" {}
