terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "oldlab_box" "a" {
  count = 2
  name = "a${count.index}"
  body = "MiXed"
  lid {
    color = "red"
  }
  item {
    name = "x"
    count = 1
  }
  timeouts { create = "5m" }
}
output "k" { value = oldlab_box.a[*].lid[0].key }
output "s" { value = oldlab_box.a[0].status }
