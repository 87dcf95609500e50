override_resource {
  target = lab_thing.a
  values = { id = "a" }
}
run "main" {
  assert {
    condition     = output.id == "a"
    error_message = output.id
  }
}
run "module" {
  module { source = "./m" }
}
