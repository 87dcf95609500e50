
variable "s" { default = 1 }
variable "fail" {
  type    = string
  default = null
}
resource "lab_thing" "a" {
  name = "a"
  size = var.s
  lifecycle {
    postcondition {
      condition     = self.size < 20
      error_message = "a"
    }
  }
}
resource "lab_thing" "b" {
  for_each = toset(["x", "y"])
  name     = each.key
  size     = var.s
  fail_on  = each.key == "x" ? var.fail : null
  lifecycle {
    precondition {
      condition     = lab_thing.a.size < 20
      error_message = "b"
    }
  }
}
check "all" {
  assert {
    condition     = alltrue([for b in lab_thing.b : b.size < 5])
    error_message = "b too large: ${join(",", [for b in lab_thing.b : b.size])}"
  }
  assert {
    condition     = lab_thing.a.size < 5
    error_message = "a too large"
  }
}
output "o" {
  value = lab_thing.a.size
  precondition {
    condition     = lab_thing.b["x"].size < 20
    error_message = "o"
  }
}
