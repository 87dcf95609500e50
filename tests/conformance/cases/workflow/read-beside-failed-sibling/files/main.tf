
variable "s" { default = 1 }
variable "fail" {
  type    = string
  default = null
}
resource "lab_thing" "a" {
  for_each = toset(["x", "y"])
  name     = each.key
  size     = var.s
  fail_on  = each.key == "x" ? var.fail : null
}

data "lab_thing" "e" {
  count = 2
  name  = lab_thing.a["y"].revision == 0 ? "" : "y"
}
resource "lab_widget" "w" { title = data.lab_thing.e[0].size }
