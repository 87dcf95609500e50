run "x" {
  command = plan
  plan_options {
    target = [module.u, module.c[0]]
  }

  assert {
    condition     = module.u.s == "s"
    error_message = "no"
  }
}
