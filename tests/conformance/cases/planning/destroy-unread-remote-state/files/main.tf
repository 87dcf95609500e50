
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "net/terraform.tfstate" }
}
provider "lab" {
  region = data.terraform_remote_state.net.outputs.region
}
resource "lab_thing" "t" {
  name = "t"
}
