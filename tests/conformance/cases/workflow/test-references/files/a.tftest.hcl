run "a" {
  assert {
    condition     = var.none == 1
    error_message = "m"
  }
}
