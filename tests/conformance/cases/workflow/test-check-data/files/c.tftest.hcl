run "unexpected" {
  variables { name = "zz" }
}
