run "x" {
  command = plan
  plan_options {
    target = [module.u, module.c[0]]
  }

  assert {
    condition     = module.c[0].s == "s"
    error_message = "no"
  }
}
