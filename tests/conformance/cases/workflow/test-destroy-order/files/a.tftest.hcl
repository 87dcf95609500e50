run "made" {}
run "replaced" {
  variables { name = "b" }
}
