mock_provider "terraform" {}
run "mocked" {
  command = plan
  assert {
    condition     = length(terraform_data.a.id) > 3
    error_message = "id"
  }
}
