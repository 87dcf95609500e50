override_data {
  target = data.terraform_remote_state.s
  values = {
    outputs = { x = 5 }
  }
}
run "given" {
  assert {
    condition     = output.x == 5
    error_message = "x"
  }
}
