run "output" {
  command = plan
  variables { n = 10 }
}
run "check" {
  variables { n = 13 }
}
