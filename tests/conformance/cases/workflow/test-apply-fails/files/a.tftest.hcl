run "fails" {
  variables { fail = "create" }
  assert {
    condition     = output.o == "never"
    error_message = "never"
  }
}
run "skipped" {}
