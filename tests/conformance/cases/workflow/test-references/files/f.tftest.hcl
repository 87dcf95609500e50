run "f" {
  assert {
    condition     = terraform_data.a.input == 1
    error_message = "m"
  }
}
