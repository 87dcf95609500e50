resource "lab_thing" "t" {
  name = "t"
  zzz  = 1
  dynamic "step" {
    for_each = [1]
    content {
      command = step.value.x
      on      = var.none
      extra   = 1
    }
  }
}
