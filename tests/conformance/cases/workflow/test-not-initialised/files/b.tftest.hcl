mock_provider "lab" {}
run "c" {}
