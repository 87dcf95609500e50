run "real" {
  variables {
    pass = "q"
  }
  assert {
    condition     = lab_thing.a.secret_wo == null
    error_message = "kept"
  }
}
