variable "s" {
  default   = "q"
  sensitive = true
}
resource "lab_thing" "a" { name = "a" }
check "c" {
  assert {
    condition     = lab_thing.a.id != ""
    error_message = "x ${lab_thing.a.id} ${var.s}"
  }
}
