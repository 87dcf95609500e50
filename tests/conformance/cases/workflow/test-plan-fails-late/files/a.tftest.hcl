run "made" {}
run "fails" {
  variables { n = 2 }
}
run "skipped" {}
