check "q" {
  data "terraform_remote_state" "q" {
    backend = "local"
    config  = { path = "nope" }
  }
  assert {
    condition     = data.terraform_remote_state.q.outputs.x == 1
    error_message = "x"
  }
}
