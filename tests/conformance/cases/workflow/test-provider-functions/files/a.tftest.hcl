run "in_module" {
  assert {
    condition     = output.v == "X"
    error_message = output.v
  }
}
