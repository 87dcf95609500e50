terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = "a"
  dynamic "rule" {
    for_each = [1]
    iterator = "text"
    labels   = ["x"]
    content {
      port = 1
    }
  }
}
