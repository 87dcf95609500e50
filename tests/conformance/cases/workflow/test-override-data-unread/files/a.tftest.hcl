override_data {
  target = data.lab_thing.missing
  values = { color = "green" }
}
override_data {
  target = data.lab_thing.late
  values = { size = 3 }
}
override_data {
  target = data.lab_thing.scoped
  values = { size = 4 }
}
run "plan" {
  command = plan
  assert {
    condition     = lab_thing.a.color == "green" && data.lab_thing.missing.color == "green"
    error_message = "color"
  }
}
run "apply" {
  assert {
    condition     = output.late == 3 && lab_thing.a.color == "green"
    error_message = "late"
  }
}
