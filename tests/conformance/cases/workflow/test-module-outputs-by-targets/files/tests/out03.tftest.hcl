run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = length(module.c) == 0
    error_message = "no"
  }
}
