run "planned" { command = plan }
run "uses" {
  variables { n = run.planned.n }
}
