provider "lab" { region = var.decl }
variables { decl = "file" }
run "one" {
  assert {
    condition = output.r == "file"
    error_message = output.r
  }
}
run "two" {
  variables { decl = "run" }
  assert {
    condition = output.r == "run"
    error_message = output.r
  }
}
