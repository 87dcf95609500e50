override_resource {
  target = lab_thing.over
  values = { id = "o" }
}
override_data {
  target = data.lab_echo.d
  values = { result = "r" }
}
run "plan" {
  command = plan
  assert {
    condition     = lab_thing.over.id == "o"
    error_message = "id"
  }
}
run "apply" {
  assert {
    condition     = lab_thing.over.id == "o" && output.zone == lab_thing.real.zone && data.lab_echo.d.result == "r" && lab_thing.over.color == lab_thing.real.id
    error_message = "apply"
  }
}
