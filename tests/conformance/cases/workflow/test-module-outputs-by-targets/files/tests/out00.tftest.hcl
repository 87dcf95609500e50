run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = module.c == null
    error_message = "no"
  }
}
