run "condition" {
  assert {
    condition     = var.secret == "other"
    error_message = "The secret is wrong."
  }
}
run "message" {
  assert {
    condition     = output.secret == "other"
    error_message = "The secret is ${output.secret}."
  }
}
run "handed_on" {
  variables {
    plain = run.message.secret
  }
  assert {
    condition     = output.plain == "hush"
    error_message = "plain"
  }
}
