run "setup" {
  module { source = "./setup" }
}
run "uses" {
  variables { text = run.setup.missing }
}
