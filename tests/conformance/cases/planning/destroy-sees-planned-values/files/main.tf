terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "n" {
  default = 1
}
resource "lab_thing" "a" {
  name = "a"
  size = var.n
}
resource "lab_thing" "many" {
  count = var.n
  name  = "many${count.index}"
}
data "lab_thing" "after" {
  name       = "a"
  depends_on = [lab_thing.a]
}
data "lab_thing" "of_unknown" {
  name = lab_thing.a.revision == 0 ? "b" : "a"
}
output "size" {
  value = lab_thing.a.size
}
output "given" {
  value = var.n
}
output "count" {
  value = length(lab_thing.many)
}
