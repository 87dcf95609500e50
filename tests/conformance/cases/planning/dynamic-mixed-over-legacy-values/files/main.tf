variable "v" { default = 1 }
variable "n" { default = 2 }
resource "oldlab_box" "a" {
  name   = "a"
  size   = var.v
  labels = { for i in range(var.n) : "k${i}" => "v${i}" }
}
resource "oldlab_box" "b" {
  name = "b"
  dynamic "item" {
    for_each = { for k, v in oldlab_box.a.labels : k => v if k != "k0" }
    iterator = it
    content {
      name  = it.key
      count = length(it.value)
    }
  }
  item {
    name = "fixed"
  }
  dynamic "lid" {
    for_each = oldlab_box.a.size > 1 ? [oldlab_box.a.size] : []
    content {
      color = "c${lid.value}"
    }
  }
}
