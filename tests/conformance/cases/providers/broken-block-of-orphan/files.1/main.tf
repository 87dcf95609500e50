
provider "lab" {
  alias = "a"
  region = local.nope
}
resource "terraform_data" "y" { input = 1 }
