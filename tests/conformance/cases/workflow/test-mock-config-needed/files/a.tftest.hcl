mock_provider "lab" {}
run "mocked" {
  assert {
    condition     = output.up == "X"
    error_message = output.up
  }
}
