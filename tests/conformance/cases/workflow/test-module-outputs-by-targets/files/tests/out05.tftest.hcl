run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = module.m.s == "s"
    error_message = "no"
  }
}
