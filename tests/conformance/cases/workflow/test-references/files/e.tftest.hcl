run "e" {
  assert {
    condition     = run.a.n == 1
    error_message = "m"
  }
}
