mock_provider "lab" {
  mock_resource "lab_thing" {
    defaults = { id = "mocked" }
  }
}
run "mixed" {
  assert {
    condition     = lab_thing.r.name == "r-mocked" && lab_thing.r.region == "real" && lab_thing.m.region != "real"
    error_message = lab_thing.r.name
  }
}
