variable "rules" {
  sensitive = true
  default   = { a = { port = 1, cidr = "c" }, b = { port = 2, cidr = null } }
}
resource "lab_thing" "t" {
  name = "t"
  dynamic "rule" {
    for_each = var.rules
    content {
      port = rule.value.port
      cidr = rule.value.cidr
    }
  }
  dynamic "step" {
    for_each = keys(var.rules)
    content {
      command = step.value
      on      = "fixed"
    }
  }
}
output "r" {
  value     = lab_thing.t.rule
  sensitive = true
}
output "s" {
  value = nonsensitive(length(lab_thing.t.step))
}
output "on" {
  value = [for s in lab_thing.t.step : issensitive(s.on)]
}
