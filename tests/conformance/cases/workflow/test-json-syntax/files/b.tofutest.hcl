run "shown" {
  assert {
    condition     = var.n == 1
    error_message = "shown"
  }
}
