provider "lab" {
  region = "main"
}
provider "lab" {
  alias  = "second"
  region = "second"
}
run "given" {
  module { source = "./m" }
  providers = {
    lab       = lab
    lab.extra = lab.second
  }
  assert {
    condition     = output.regions == ["second", "main"]
    error_message = jsonencode(output.regions)
  }
}
