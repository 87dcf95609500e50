run "attribute" {
  command         = plan
  expect_failures = [terraform_data.a.input]
}
