run "fails" {
  command = plan
  assert {
    condition     = terraform_data.a.input[0] == 2
    error_message = "index"
  }
  assert {
    condition     = tobool("text${var.nothing == null}")
    error_message = "function"
  }
}
