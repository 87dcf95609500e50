run "d" {
  assert {
    condition     = module.none.x == 1
    error_message = "m"
  }
}
