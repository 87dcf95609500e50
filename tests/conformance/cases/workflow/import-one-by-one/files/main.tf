terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}

variable "size" {
  default = 1
}
resource "lab_thing" "a" {
  name = "a"
  size = var.size
}
resource "lab_thing" "b" {
  count = 2
  name  = "b${count.index}"
  size  = lab_thing.a.size
}
output "o" {
  value = lab_thing.b[*].size
}
resource "lab_thing" "k" {
  for_each = toset(["x"])
  name = each.key
}
output "k" {
  value = lab_thing.k["x"].name
}
output "n" {
  value = length(lab_thing.b)
}
