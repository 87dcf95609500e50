
provider "lab" {
  alias = "a"
  region = local.nope
}
provider "lab" {
  alias = "b"
  nope = 1
}
provider "lab" {
  alias = "c"
  region = ["x"]
}
provider "lab" {
  alias = "d"
  region = tonumber("x")
}
resource "terraform_data" "x" { input = 1 }
