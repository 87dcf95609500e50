
variable "s" { default = 1 }
variable "sy" {
  type    = number
  default = null
}
variable "fail" {
  type    = string
  default = null
}
resource "lab_thing" "a" {
  for_each = toset(["x", "y"])
  name     = each.key
  size     = each.key == "y" ? coalesce(var.sy, var.s) : var.s
  fail_on  = each.key == "x" ? var.fail : null
}
locals {
  y    = lab_thing.a["y"].size
  both = [for t in lab_thing.a : t.size]
}
output "direct" {
  value = lab_thing.a["y"].size
  precondition {
    condition     = lab_thing.a["y"].size < 100
    error_message = "direct"
  }
}
output "through" {
  value = local.y
  precondition {
    condition     = local.y < 100
    error_message = "through"
  }
}
output "both" {
  value = local.both
  precondition {
    condition     = length(local.both) < 100
    error_message = "both"
  }
}
output "other" {
  value = lab_thing.a["x"].size
  precondition {
    condition     = lab_thing.a["x"].size < 100
    error_message = "other"
  }
}
resource "lab_thing" "b" {
  name = "b"
  size = local.y
  lifecycle {
    precondition {
      condition     = lab_thing.a["y"].size < 50
      error_message = "b"
    }
  }
}
module "m" {
  source = "./m"
  y      = lab_thing.a["y"].size
}
output "m" {
  value = module.m.y
}
