mock_provider "lab" {
  override_resource {
    target = lab_thing.b
    values = { id = "b" }
  }
}
run "module" {
  module { source = "./m" }
  assert {
    condition     = output.id == "b"
    error_message = output.id
  }
}
run "main" {
  assert {
    condition     = output.id != "b"
    error_message = output.id
  }
}
