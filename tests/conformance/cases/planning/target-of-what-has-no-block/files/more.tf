resource "lab_thing" "plain" {
  name = "plain"
}
resource "lab_thing" "far" {
  provider = lab.far
  name     = "far"
}
resource "lab_thing" "each" {
  provider = lab.each["q"]
  name     = "each"
}
resource "lab_thing" "left" {
  provider = lab.far
  name     = "left"
}
module "m" {
  source = "./m"
  count  = 1
}
