provider "lab" { region = var.reg }
variables { reg = "file" }
run "one" {
  assert {
    condition = output.r == "file"
    error_message = output.r
  }
}
