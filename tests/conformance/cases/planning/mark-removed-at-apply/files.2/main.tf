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
output "s" {
  value = lab_thing.t
}
output "n" {
  value = [for x in [lab_thing.t.secret] : x]
}

