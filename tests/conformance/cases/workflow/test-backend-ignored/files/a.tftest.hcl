run "a" {
  assert {
    condition     = terraform_data.a.output == 1
    error_message = "a"
  }
}
