mock_provider "other" {}
run "other" {}
