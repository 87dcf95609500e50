terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}

variable "s" { default = 1 }
resource "oldlab_box" "b" {
  name = var.s == 3 ? "c" : "b"
  size = var.s
  body = "Hello\nWorld ${var.s}"
  labels = { a = "x", b = "" }
  dynamic "lid" {
    for_each = var.s == 2 ? [] : [1]
    content { color = "red" }
  }
  dynamic "item" {
    for_each = range(var.s)
    content { name = "n${item.key}" }
  }
  shelf {}
  shelf {
    slot { width = var.s }
  }
}
