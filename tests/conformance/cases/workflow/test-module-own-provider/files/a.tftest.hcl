run "own" {
  module { source = "./m" }
  assert {
    condition     = output.region == "own"
    error_message = output.region
  }
}
run "given" {
  module { source = "./m" }
  variables { region = "given" }
}
run "main" {}
