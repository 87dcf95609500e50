mock_provider "lab" {}
run "mocked" {}
