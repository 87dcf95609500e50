run "g" {
  assert {
    condition     = each.key == "x"
    error_message = "m"
  }
}
