run "made" {}
run "replaced" {
  variables {
    name = "b"
    old  = run.made.id
  }
  assert {
    condition     = output.id != var.old && lab_thing.a.name == "b"
    error_message = "same"
  }
}
run "end" {
  command = plan
  variables { name = "c" }
  assert {
    condition     = lab_thing.a.name == "c"
    error_message = "name"
  }
}
run "last" {
  variables { name = "b" }
}
