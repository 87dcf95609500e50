run "null" {
  command = plan
  assert {
    condition     = var.nothing
    error_message = "null"
  }
}
