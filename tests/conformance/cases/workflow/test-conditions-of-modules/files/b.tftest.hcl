run "postcondition" {
  variables { n = 9 }
}
