
variable "v" { default = 1 }
resource "oldlab_box" "a" {
  name   = "a"
  labels = { k = "v" }
  tags   = ["t1", "t2"]
  kind   = "odd"
  size   = var.v
  item { name = "i" }
}

resource "lab_thing" "b" {
  name = "b"
  dynamic "step" {
    for_each = oldlab_box.a.tags
    content { command = step.value }
  }
}
