terraform {
  required_providers {
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
variable "t" {
  default = "2m"
}
resource "oldlab_box" "b" {
  name     = "b"
  old_name = "older"
  timeouts {
    create = var.t
    delete = "1h"
  }
}
output "t" {
  value = oldlab_box.b.timeouts.create
}
