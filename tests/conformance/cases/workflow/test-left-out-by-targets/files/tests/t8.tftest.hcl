run "everything" {}
run "asserted" {
  command = plan
  plan_options {
    target = [lab_thing.a]
  }
  assert {
    condition     = lab_thing.b.size == 1
    error_message = "no"
  }
}
