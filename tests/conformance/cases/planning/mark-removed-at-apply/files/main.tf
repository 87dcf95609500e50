terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "lab_thing" "t" {
  name   = "t"
  secret = "abc"
}
resource "oldlab_box" "b" {
  name     = "b"
  password = lab_thing.t.secret
  labels   = { p = lab_thing.t.secret }
}
output "s" {
  value     = lab_thing.t.secret
  sensitive = true
}
output "n" {
  value = "plain"
}
data "lab_echo" "e" {
  value = { s = lab_thing.t.secret, o = 1 }
}
output "o" {
  value = data.lab_echo.e.result.o
}
