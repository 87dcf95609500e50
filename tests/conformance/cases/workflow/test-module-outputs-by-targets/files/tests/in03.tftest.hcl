run "x" {
  plan_options {
    target = [module.m, module.u, module.c, module.e]
  }

  assert {
    condition     = length(keys(module.u)) == 2
    error_message = "no"
  }
}
