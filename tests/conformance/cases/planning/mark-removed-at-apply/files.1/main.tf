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
  password = "abc"
  labels   = { p = "abc" }
}
output "s" {
  value = nonsensitive(lab_thing.t.secret)
}
output "n" {
  value     = "plain"
  sensitive = true
}
