mock_provider "oldlab" {
  mock_resource "oldlab_box" {
    defaults = { item = 3, lid = { color = "blue" }, shelf = { slot = { width = 3 } } }
  }
}
run "a" {}
