run "asserted" {
  command = plan
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = output.text == null
    error_message = "no"
  }
}
