run "overridden" {
  command = plan
  override_resource {
    target = terraform_data.a
    values = {
      id = "given"
    }
  }
  assert {
    condition     = terraform_data.b.input == "given" && output.id == "given"
    error_message = terraform_data.b.input
  }
}
run "applied" {
  override_resource {
    target = terraform_data.a
    values = {
      id     = "given"
      output = "other"
    }
  }
  assert {
    condition     = terraform_data.a.output == "other" && terraform_data.b.output == "given"
    error_message = jsonencode(terraform_data.a)
  }
}
