mock_provider "oldlab" {
  mock_resource "oldlab_box" {
    defaults = { status = [{ state = "up" }], lid = { color = "blue" } }
  }
}
run "a" {}
