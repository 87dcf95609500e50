run "x" {
  plan_options {
    target = [terraform_data.a]
  }

  assert {
    condition     = module.e["k"].s == "s"
    error_message = "no"
  }
}
