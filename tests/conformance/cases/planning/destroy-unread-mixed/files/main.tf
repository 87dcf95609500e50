
resource "lab_widget" "w" {
  count = 2
  title = "w${count.index}"
}
resource "lab_thing" "a" {
  name = lab_widget.w[0].title
  lifecycle { create_before_destroy = true }
}
module "m" {
  source = "./m"
  id     = lab_thing.a.id
}
provider "lab" {
  alias  = "p"
  region = module.m.name
}
resource "lab_thing" "p" {
  provider = lab.p
  name     = "p"
}
output "o" { value = module.m.name }
