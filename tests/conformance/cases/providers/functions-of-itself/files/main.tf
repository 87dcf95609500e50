provider "lab" {
  region = provider::lab::upper("x")
}
resource "lab_thing" "t" {
  name = "t"
}
