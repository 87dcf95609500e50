terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "oldlab_box" "a" {
  count = 2
  name = "a${count.index}"
  body = "mixed"
  size = 3
  dynamic "item" {
    for_each = { q = 1, x = 2 }
    content {
      name = item.key
      count = item.value
    }
  }
  conflicts_a = "x"
  old_name = "old"
}
output "k" { value = oldlab_box.a[*].lid }
