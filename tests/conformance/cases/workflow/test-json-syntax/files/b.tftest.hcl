run "hidden" {
  assert {
    condition     = var.n == 99
    error_message = "hidden"
  }
}
