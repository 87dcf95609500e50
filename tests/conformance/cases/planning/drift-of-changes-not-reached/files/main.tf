
variable "s" { default = 1 }
variable "fail" { default = null }
resource "lab_singleton" "up" {
  name = "u"
  value = var.s
}
resource "lab_singleton" "clash" {
  count = var.fail == null ? 0 : 1
  name = "u"
  value = lab_singleton.up.value
}
resource "lab_thing" "a" {
  name = "a"
  size = 2
  notes = lab_singleton.clash[*].id
}
resource "lab_thing" "k" { name = "k" }
