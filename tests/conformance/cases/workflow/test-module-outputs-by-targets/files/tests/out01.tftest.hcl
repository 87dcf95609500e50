run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = module.c[0].s == "s"
    error_message = "no"
  }
}
