mock_provider "oldlab" {
  mock_resource "oldlab_box" {
    defaults = {
      kind       = "cube"
      generation = "7"
      status     = [{ state = "up", region = "north" }]
      lid        = { key = "k" }
    }
  }
}
mock_provider "lab" {}
run "made" {
  assert {
    condition     = oldlab_box.b.kind == "cube" && oldlab_box.b.generation == 7 && oldlab_box.b.lid[0].key == "k"
    error_message = jsonencode(oldlab_box.b.status)
  }
  assert {
    condition     = oldlab_box.b.status[0].state == "up" && length(oldlab_box.b.item) == 2
    error_message = jsonencode(oldlab_box.b.status)
  }
  assert {
    condition     = alltrue([for i in oldlab_box.b.item : length(i.serial) >= 4 && length(i.serial) <= 15])
    error_message = oldlab_box.b.kind
  }
  assert {
    condition     = lab_thing.t.secret_wo == null && lab_thing.t.limits.cpu == 2 && lab_thing.t.limits.memory == null
    error_message = jsonencode(lab_thing.t.limits)
  }
  assert {
    condition     = lab_thing.t.size == 0 && lab_thing.t.endpoint.port == 0 && lab_thing.t.color == null
    error_message = "made up"
  }
}
run "changed" {
  command = plan
  override_resource {
    target = oldlab_box.b
    values = {
      item = { serial = "s" }
    }
  }
  assert {
    condition     = [for i in oldlab_box.b.item : i.serial] == ["s", "s"]
    error_message = oldlab_box.b.kind
  }
}
