
resource "lab_thing" "base" { name = "base" }
module "d" {
  source = "./d"
  count  = 2
  name   = lab_thing.base.name
}
provider "lab" {
  alias  = "x"
  region = module.d[1].region
}
resource "lab_thing" "t" {
  provider = lab.x
  name     = "t"
}
check "c" {
  data "lab_thing" "look" { name = "base" }
  assert {
    condition     = data.lab_thing.look.size == 1
    error_message = "size"
  }
}
