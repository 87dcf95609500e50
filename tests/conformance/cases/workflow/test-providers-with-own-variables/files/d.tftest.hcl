provider "lab" {
  alias = "x"
  region = var.reg
}
provider "lab" { }
variables { reg = "file" }
run "one" {
  assert {
    condition = output.r == "default"
    error_message = output.r
  }
}
