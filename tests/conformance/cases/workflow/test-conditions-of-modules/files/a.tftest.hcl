run "variable" {
  command = plan
  variables { n = 4 }
}
