run "listed" {
  expect_failures = [data.lab_thing.d]
}
run "both" {
  variables { n = 5 }
  expect_failures = [lab_thing.a]
}
run "unlisted" {
  variables { n = 6 }
}
