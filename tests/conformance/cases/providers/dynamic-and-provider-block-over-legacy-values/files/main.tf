
variable "v" { default = 1 }
variable "s" {
  default   = "sec"
  sensitive = true
}
resource "oldlab_box" "a" {
  name   = "a"
  size   = var.v
  labels = { k = var.s, z = "p" }
}
resource "lab_thing" "t" {
  name = "t"
  dynamic "rule" {
    for_each = oldlab_box.a.labels
    content {
      port = length(rule.value)
      cidr = rule.key
    }
  }
  dynamic "step" {
    for_each = oldlab_box.a.size > 1 ? ["one", oldlab_box.a.name] : []
    content { command = step.value }
  }
}
provider "lab" {
  dynamic "settings" {
    for_each = oldlab_box.a.size > 5 ? [oldlab_box.a.size] : []
    content { retries = settings.value }
  }
}
