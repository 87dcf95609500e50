run "one" {
  assert {
    condition     = output.any.n == 1 && lab_any.v.echo.list[1] == "x"
    error_message = jsonencode(output.any)
  }
}
run "two" {
  variables { n = 2 }
  plan_options { refresh = false }
  assert {
    condition     = output.any.n == 2
    error_message = jsonencode(output.any)
  }
}
