provider "lab" {
  alias = "x"
  region = var.reg
}
variables { reg = "file" }
run "one" {
  providers = { lab = lab.x }
  assert {
    condition = output.r == "file"
    error_message = output.r
  }
}
