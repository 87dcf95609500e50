mock_provider "lab" {
  mock_resource "lab_nothing" {
    defaults = { x = 1 }
  }
  mock_data "lab_thing" {
    defaults = { ghost = 1 }
  }
}
run "unused" {}
