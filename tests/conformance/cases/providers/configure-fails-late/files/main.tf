resource "terraform_data" "x" {
  input = "late failure"
}
provider "lab" {
  alias          = "late"
  fail_configure = terraform_data.x.output
}
resource "lab_thing" "u" {
  provider = lab.late
  name     = "u"
}
data "lab_region" "r" {
  provider = lab.late
}
resource "lab_thing" "free" {
  name = "free"
}
resource "lab_link" "l" {
  from = lab_thing.u.id
  to   = lab_thing.free.id
}
