mock_provider "oldlab" {
  mock_resource "oldlab_box" {
    defaults = { item = { name = "x" }, lid = { color = "blue" } }
  }
}
run "a" {}
