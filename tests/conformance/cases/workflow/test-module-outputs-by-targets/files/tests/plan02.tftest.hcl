run "x" {
  command = plan
  plan_options {
    target = [module.u, module.c[0]]
  }

  assert {
    condition     = module.c[1].o == "i"
    error_message = "no"
  }
}
