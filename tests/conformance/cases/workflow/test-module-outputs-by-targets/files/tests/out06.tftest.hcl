run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = can(module.m.s)
    error_message = "no"
  }
}
