run "nothing" {
  command         = plan
  expect_failures = [var.none, terraform_data.b, output.none]
}
