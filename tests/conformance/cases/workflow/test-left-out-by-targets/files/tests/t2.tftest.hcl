run "asserted" {
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = lab_thing.b == null
    error_message = "no"
  }
}
