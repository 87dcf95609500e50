run "asserted" {
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = local.unused == "b"
    error_message = "no"
  }
}
