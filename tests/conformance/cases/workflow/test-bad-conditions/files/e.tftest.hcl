run "constant" {
  command = plan
  assert {
    condition     = true
    error_message = "constant"
  }
}
