terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_any" "a" {
  value = { list = "notalist", ok = ["x"], num = "12", map = [1] }
}
resource "lab_thing" "good" {
  name  = "good"
  size  = lab_any.a.echo.num
  notes = lab_any.a.echo.ok
}
resource "lab_thing" "badlist" {
  name  = "badlist"
  notes = lab_any.a.echo.list
}
resource "lab_thing" "badmap" {
  name   = "badmap"
  labels = lab_any.a.echo.map
}
module "m" {
  source = "./m"
  n      = lab_any.a.echo.list
}
output "missing" {
  value = lab_any.a.echo.nope
}
