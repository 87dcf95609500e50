run "four" {
  command = plan
  assert {
    condition     = output.n == 4
    error_message = "n is ${output.n}"
  }
}
run "other" {
  command = plan
  variables {
    n = var.n
  }
  assert {
    condition     = output.n == 4
    error_message = "n is ${output.n}"
  }
}
