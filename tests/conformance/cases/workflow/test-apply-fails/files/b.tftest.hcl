run "made" {}
run "update_fails" {
  variables { fail = "update" }
}
