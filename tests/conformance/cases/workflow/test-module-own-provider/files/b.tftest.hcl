provider "lab" {
  region = "test"
}
run "replaced" {
  module { source = "./m" }
  assert {
    condition     = output.region == "test"
    error_message = output.region
  }
}
