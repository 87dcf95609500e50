terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
variable "c" {
  sensitive = true
  default   = { color = "red", items = ["a", "b"] }
}
resource "oldlab_box" "b" {
  name = "b"
  dynamic "lid" {
    for_each = var.c[*]
    content {
      color = lid.value.color
      lock  = true
    }
  }
  dynamic "item" {
    for_each = toset(var.c.items)
    content {
      name = item.value
    }
  }
}
output "lid" {
  value = oldlab_box.b.lid[0].key != ""
}
output "lid2" {
  value = nonsensitive(oldlab_box.b.lid[0].color)
}
output "lid3" {
  value = issensitive(oldlab_box.b.lid[0])
}
