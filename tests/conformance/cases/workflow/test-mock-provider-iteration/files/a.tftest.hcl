mock_provider "lab" {
  alias    = "by"
  for_each = var.regions
  mock_resource "lab_thing" {
    defaults = { region = "mocked" }
  }
}
run "both" {
  assert {
    condition     = output.m == { a = "mocked", b = "mocked" } && lab_thing.t["a"].region == "mocked"
    error_message = jsonencode(output.m)
  }
}
run "more" {
  variables {
    regions = toset(["a", "b", "c"])
  }
  assert {
    condition     = keys(output.m) == ["a", "b", "c"]
    error_message = jsonencode(output.m)
  }
}
