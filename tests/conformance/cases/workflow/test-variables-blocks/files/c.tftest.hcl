run "five" {
  command = plan
  variables {
    unused = var.none
  }
  assert {
    condition     = output.ab == "ab"
    error_message = output.ab
  }
}
