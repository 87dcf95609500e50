run "setup" {
  module {
    source = "./setup"
  }
  variables {
    seed = "one"
  }
  assert {
    condition     = lab_thing.t.name == "setup-one" && module.inner.name == output.name
    error_message = output.name
  }
}
run "main" {
  variables {
    prefix = run.setup.name
  }
  assert {
    condition     = output.title == "inner-setup-one-main"
    error_message = output.title
  }
}
run "again" {
  module {
    source = "./setup"
  }
  variables {
    seed = "two"
  }
  assert {
    condition     = output.name == "inner-setup-two"
    error_message = output.name
  }
}
run "end" {
  variables {
    prefix = "end"
  }
}
