run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = module.m.nope == 1
    error_message = "no"
  }
}
