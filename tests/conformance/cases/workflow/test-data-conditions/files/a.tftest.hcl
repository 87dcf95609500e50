run "two" {
  command = plan
  variables { n = 2 }
  expect_failures = [data.lab_region.r]
}
run "three" {
  command = plan
  variables { n = 3 }
  expect_failures = [data.lab_region.r]
}
