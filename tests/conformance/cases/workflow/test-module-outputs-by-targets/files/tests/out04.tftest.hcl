run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = length(keys(module.m)) == 2
    error_message = "no"
  }
}
