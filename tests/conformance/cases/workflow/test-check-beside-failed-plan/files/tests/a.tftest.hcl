run "fails" {
  expect_failures = [lab_thing.a, check.health]
}
