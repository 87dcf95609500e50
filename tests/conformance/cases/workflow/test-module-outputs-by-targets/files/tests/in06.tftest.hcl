run "x" {
  plan_options {
    target = [module.m, module.u, module.c, module.e]
  }

  assert {
    condition     = module.e["k"].o == "i"
    error_message = "no"
  }
}
