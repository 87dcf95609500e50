run "b" {
  assert {
    condition     = local.none == 1
    error_message = "m"
  }
}
