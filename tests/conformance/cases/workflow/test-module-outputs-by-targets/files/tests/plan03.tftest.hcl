run "x" {
  command = plan
  plan_options {
    target = [module.u, module.c[0]]
  }

  assert {
    condition     = length(module.c) == 2
    error_message = "no"
  }
}
