run "asserted" {
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = output.text == "text"
    error_message = "no"
  }
}
