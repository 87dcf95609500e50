
provider "lab" {
  alias = "a"
  region = "eu"
}
resource "lab_thing" "x" {
  provider = lab.a
  name = "x"
}
