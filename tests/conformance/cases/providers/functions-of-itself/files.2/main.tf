provider "lab" {
}
provider "lab" {
  alias  = "x"
  region = provider::lab::upper("x")
}
resource "lab_thing" "t" {
  provider = lab.x
  name     = provider::lab::x::upper("t")
}
