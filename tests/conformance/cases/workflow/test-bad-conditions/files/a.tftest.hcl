run "unknown" {
  command = plan
  assert {
    condition     = terraform_data.a.id == "x"
    error_message = "id"
  }
  assert {
    condition     = output.id == "x"
    error_message = "output"
  }
}
