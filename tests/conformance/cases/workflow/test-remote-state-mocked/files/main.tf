data "terraform_remote_state" "s" {
  backend = "local"
  config  = { path = "nowhere.tfstate" }
}
output "x" { value = data.terraform_remote_state.s.outputs.x }
