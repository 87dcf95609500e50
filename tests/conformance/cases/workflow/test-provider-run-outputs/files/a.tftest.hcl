provider "lab" {
  region = "${run.setup.region}-${var.region}"
}
run "setup" {
  module {
    source = "./setup"
  }
}
run "main" {
  variables {
    region = "v"
  }
  assert {
    condition     = output.region == "made-v"
    error_message = output.region
  }
}
