run "h" {
  assert {
    condition     = terraform_data.a[0].nothing == 1
    error_message = "m"
  }
}
