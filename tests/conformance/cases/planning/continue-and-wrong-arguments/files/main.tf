terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_any" "a" {
  value = { s = "str", ls = ["x"] }
}
resource "lab_thing" "t" {
  name = "t"
  provisioner "local-exec" {
    on_failure = continue
    command    = tonumber(lab_any.a.echo.s)
  }
}
