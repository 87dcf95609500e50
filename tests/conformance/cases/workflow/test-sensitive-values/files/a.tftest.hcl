variables {
  secret = "s3cret"
}
run "equal" {
  assert {
    condition     = lab_thing.a.secret == "s3cret" && output.masked == var.secret
    error_message = "secret"
  }
}
run "unequal" {
  command = plan
  assert {
    condition     = lab_thing.a.secret == "x"
    error_message = "it is ${lab_thing.a.secret}"
  }
}
run "ephemeral" {
  command = plan
  assert {
    condition     = var.passing == "x"
    error_message = "it is ${var.passing}"
  }
}
