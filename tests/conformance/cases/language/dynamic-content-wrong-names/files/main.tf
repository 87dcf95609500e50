resource "lab_thing" "t" {
  name = "t"
  size = "big"
  dynamic "rule" {
    for_each = 5
    content {
      port = 1
    }
  }
  dynamic "step" {
    for_each = [1]
    content {
      command = local.none
      on      = rule.value
    }
  }
}
