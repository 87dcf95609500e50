terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}
resource "oldlab_box" "b" {
  name   = "lamp2"
  labels = tomap({ b = "two" })
}
