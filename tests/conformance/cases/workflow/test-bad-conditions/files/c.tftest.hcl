run "text" {
  command = plan
  assert {
    condition     = "x${terraform_data.a.input}"
    error_message = "no bool"
  }
  assert {
    condition     = terraform_data.a.input == 2
    error_message = ["no", "text"]
  }
}
