run "x" {
  plan_options {
    target = [module.m, module.u, module.c, module.e]
  }

  assert {
    condition     = module.e["k"].s == "s"
    error_message = "no"
  }
}
