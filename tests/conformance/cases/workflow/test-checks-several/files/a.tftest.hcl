run "both" {
  variables { n = 11 }
  expect_failures = [check.c]
}
run "three" {
  command = plan
  variables { n = 12 }
  expect_failures = [check.c, check.d, check.c]
}
