run "x" {
  plan_options {
    target = [module.m, module.u, module.c, module.e]
  }

  assert {
    condition     = module.m.s == "s"
    error_message = "no"
  }
}
