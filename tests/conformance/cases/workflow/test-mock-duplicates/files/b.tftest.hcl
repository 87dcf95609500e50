mock_provider "lab" {}
provider "lab" {
  region = "r"
}
run "both" {
  assert {
    condition     = lab_thing.a.region != "r"
    error_message = lab_thing.a.region
  }
}
