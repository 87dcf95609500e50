
variable "v" { default = 1 }
resource "oldlab_box" "a" {
  for_each = toset(["x", "y"])
  name     = each.key
  tags     = ["1", "2"]
  size     = var.v
}
resource "oldlab_box" "b" {
  for_each = oldlab_box.a
  name     = "b-${each.key}"
  dynamic "shelf" {
    for_each = [each.value.tags]
    iterator = s
    content {
      dynamic "slot" {
        for_each = s.value
        content { width = tonumber(slot.value) }
      }
    }
  }
}
