resource "lab_thing" "t" {
  name = 5
  dynamic "step" {
    for_each = []
    content {
      command = var.none
    }
  }
  dynamic "rule" {
    for_each = { a = 1 }
    content {
      port = rule.zzz
      cidr = each.key
    }
  }
}
