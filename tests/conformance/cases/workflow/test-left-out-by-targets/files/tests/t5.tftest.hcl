run "asserted" {
  command = plan
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = local.used == "a"
    error_message = "no"
  }
}
