mock_provider "lab" {
  mock_resource "lab_thing" {
    defaults = { id = "type", region = "of type" }
  }
  override_resource {
    target = lab_thing.b
    values = { id = "mock" }
  }
  override_resource {
    target = lab_thing.c
    values = { id = "mock" }
  }
  override_data {
    target = data.lab_region.r
    values = { name = "mock" }
  }
}
override_resource {
  target = lab_thing.c
  values = { id = "file" }
}
override_resource {
  target = lab_thing.d
  values = { id = "file" }
}
run "order" {
  override_resource {
    target = lab_thing.d
    values = { id = "run" }
  }
  assert {
    condition     = output.ids == ["type", "mock", "file", "run", "mock"] && output.region != "of type"
    error_message = jsonencode(output.ids)
  }
}
run "after" {
  assert {
    condition     = output.ids[3] == "file"
    error_message = jsonencode(output.ids)
  }
}
