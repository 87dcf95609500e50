mock_provider "lab" {
  mock_resource "lab_thing" {
    defaults = { region = "default" }
  }
}
mock_provider "lab" {
  alias = "west"
  mock_resource "lab_thing" {
    defaults = { region = "mocked west" }
  }
}
run "both" {
  assert {
    condition     = output.regions == ["default", "mocked west"]
    error_message = jsonencode(output.regions)
  }
}
