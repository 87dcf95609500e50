mock_provider "oldlab" {
  mock_resource "oldlab_box" {
    defaults = { lid = { key = "k" }, shelf = { slot = { width = 3 } } }
  }
}
run "a" {}
