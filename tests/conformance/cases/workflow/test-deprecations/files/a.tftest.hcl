run "plan" {
  command = plan
  variables { old = "y" }
  assert {
    condition     = module.m.old == 1
    error_message = "m"
  }
}
run "apply" {
  assert {
    condition     = output.o == 1
    error_message = "o"
  }
}
