mock_provider "lab" {
  mock_resource "lab_thing" {}
  mock_resource "lab_thing" {}
  override_resource {
    target = lab_thing.a
  }
  override_resource {
    target = lab_thing.a
  }
}
mock_provider "lab" {}
run "x" {}
