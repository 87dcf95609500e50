mock_provider "lab" {}
run "mocked" {
  assert {
    condition     = length(lab_thing.a.id) > 3
    error_message = "id"
  }
}
