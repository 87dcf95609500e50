run "one" {
  command = plan
  variables {
    strict = "s"
    a = 7
    b = 2
  }
  expect_failures = [var.a]
}
