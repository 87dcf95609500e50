run "x" {
  variables { n = 2 }
}
run "x" {
  variables { n = run.x.n + 1 }
  assert {
    condition     = output.n == 3
    error_message = "n is ${output.n}"
  }
}
run "y" {}
