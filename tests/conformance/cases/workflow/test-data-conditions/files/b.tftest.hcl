run "three" {
  variables { n = 3 }
  expect_failures = [data.lab_region.r]
}
