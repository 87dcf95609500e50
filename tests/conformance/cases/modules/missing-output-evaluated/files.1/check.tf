check "c" {
  assert {
    condition     = module.p.missing == 1
    error_message = "not one"
  }
}
