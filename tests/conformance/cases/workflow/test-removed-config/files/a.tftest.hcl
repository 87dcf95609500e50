run "on" {
  assert {
    condition     = output.first == "a"
    error_message = "first"
  }
}
run "off" {
  variables { on = false }
  assert {
    condition     = output.first == null && length(lab_thing.a) == 0 && lab_widget.w.size == 0
    error_message = "first"
  }
}
run "on_again" {
  command = plan
  assert {
    condition     = length(lab_thing.a) == 1
    error_message = "first"
  }
}
