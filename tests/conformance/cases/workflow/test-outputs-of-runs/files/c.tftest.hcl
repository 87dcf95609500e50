run "uses" {
  variables { n = run.nothing.n }
}
