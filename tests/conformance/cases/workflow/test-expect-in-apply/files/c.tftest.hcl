run "output" {
  variables { n = 6 }
  expect_failures = [output.o]
}
run "check" {
  variables { n = 7 }
  expect_failures = [check.c]
}
run "in_plan" {
  command = plan
  variables { n = 7 }
}
