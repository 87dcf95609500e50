provider "lab" { region = var.reg }
run "one" {
  variables { reg = "run" }
  assert {
    condition = output.r == "run"
    error_message = output.r
  }
}
