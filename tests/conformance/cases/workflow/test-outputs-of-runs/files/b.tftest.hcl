run "first" {
  variables { n = 5 }
}
run "second" {}
run "third" {
  variables { n = run.first.n }
}
