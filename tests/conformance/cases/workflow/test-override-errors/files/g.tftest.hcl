override_module {
  target  = module.m
  outputs = {
    ghost = 1
  }
}
run "x" {
  command = plan
  assert {
    condition     = module.m.o == null
    error_message = "not null"
  }
}
