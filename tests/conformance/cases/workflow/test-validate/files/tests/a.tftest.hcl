run "1bad" {}
run "keyword" {
  command = destroy
}
run "options" {
  plan_options {
    mode    = refresh-only
    refresh = false
  }
  plan_options {}
}
run "twice" {
  variables {
    n = 1
  }
  variables {
    n = 2
  }
}
run "source" {
  module {}
}
run "relative" {
  module {
    source = "setup"
  }
}
variables {}
variables {}
mock_provider "lab" {
  alias = "a b"
  mock_resource "x" {
    defaults = [1]
  }
}
frob "x" {}
run "blocks" {
  zork = 1
  assert {
    condition     = true
    error_message = "x"
  }
  assert {}
}
override_resource {
  target = "x"
}
override_data {}
override_module {
  target = module.a[0]
}
