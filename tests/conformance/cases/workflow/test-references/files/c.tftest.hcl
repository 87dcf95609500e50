run "c" {
  assert {
    condition     = output.none == 1
    error_message = "m"
  }
}
