
variable "v" { default = 1 }
resource "oldlab_box" "a" {
  name   = "a"
  labels = { k = "v" }
  tags   = ["t1", "t2"]
  kind   = "odd"
  size   = var.v
  item { name = "i" }
}

resource "oldlab_box" "b" {
  name = "b"
  dynamic "lid" {
    for_each = oldlab_box.a.kind == "odd" ? [1] : []
    content { color = "red" }
  }
}
