run "given" {
  override_resource {
    target = lab_thing.a
    values = { id = "one" }
  }
}
run "updated" {
  override_resource {
    target = lab_thing.a
    values = { id = "one" }
  }
  variables { color = "blue" }
  assert {
    condition     = output.id == "one" && lab_thing.a.color == "blue"
    error_message = output.id
  }
}
run "other" {
  override_resource {
    target = lab_thing.a
    values = { id = "two" }
  }
  assert {
    condition     = output.id == "two"
    error_message = output.id
  }
}
run "real" {
  assert {
    condition     = startswith(output.id, "lab-")
    error_message = output.id
  }
}
